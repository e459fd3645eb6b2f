/* What was sampled since the last drain: stacks by number, and how often each was seen in which phase
 * and mode. */
#ifndef HOTLOOP_SAMPLES_H
#define HOTLOOP_SAMPLES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "codes.h"

#define MAX_STACKS (1u << 16)

typedef struct {
    uint32_t parent;
    Code *code;
    int line;
} StackRow;

typedef struct {
    uint32_t node;
    uint32_t stack;
    uint32_t mode;
    uint32_t count;
    uint64_t ns; /* 0 is an empty slot */
} SampleRow;

typedef struct {
    StackRow *stacks; /* number `i + 1` is at `i` */
    uint32_t stack_count;
    uint32_t stack_room;
    uint32_t stacks_drained;
    uint32_t *slots; /* of stacks by content; 0 is empty */
    uint32_t slot_room;
    SampleRow *samples;
    uint32_t sample_room;
    uint32_t sample_count;
} Samples;

int samples_open(Samples *samples);
void samples_close(Samples *samples);
/* The number of the stack that is `parent` with one more frame; `parent` itself when full. */
uint32_t stack_number(Samples *samples, uint32_t parent, Code *code, int line);
void samples_add(Samples *samples, uint32_t node, uint32_t stack, uint32_t mode, uint32_t count,
                 uint64_t ns);

/* A drained copy, which no other thread changes. */
typedef struct {
    StackRow *stacks;
    uint32_t first;
    uint32_t stack_count;
    SampleRow *samples;
    uint32_t sample_room;
} Drained;

int samples_drain(Samples *samples, Drained *drained);
/* (samples, stacks) as lists of tuples, or NULL; frees what was drained. */
int drained_lists(Drained *drained, PyObject **samples, PyObject **stacks);

#endif
