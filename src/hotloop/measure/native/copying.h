/* Copies memory of this process that may be freed or unmapped while it is copied. */
#ifndef HOTLOOP_COPYING_H
#define HOTLOOP_COPYING_H

#include <stddef.h>
#include <stdint.h>

#include "kept_file.h"

#define MOST_STABLE 3
#define MOST_TIMES 8

/* How memory is copied; COPY_NONE: this system has no fault-safe copy, so nothing is sampled. */
enum { COPY_NONE, COPY_SYSTEM, COPY_FILE };

/* Memory that stays mapped for as long as the sampler runs: it is read without a system call. */
typedef struct {
    uintptr_t begin;
    uintptr_t end;
} Span;

typedef struct {
    int way;
    int process;
    KeptFile memory; /* /proc/self/mem, for COPY_FILE */
    Span stable[MOST_STABLE];
} Copier;

/* Finds the way that works here. */
void copier_open(Copier *copier);
void copier_close(Copier *copier);
/* 1 if all of it was copied; 0 if any of it is not mapped. */
int copy_memory(Copier *copier, void *to, uintptr_t from, size_t size);
/* The same word `times` times (at most MOST_TIMES), as close together as the system allows. */
int copy_again(Copier *copier, uint64_t *to, uintptr_t from, int times);
int copier_is_stable(const Copier *copier, uintptr_t from, size_t size);

#endif
