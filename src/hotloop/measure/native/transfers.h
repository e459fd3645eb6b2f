/* Transfers between devices, for the methods that make them: see transfers.c. */
#ifndef HOTLOOP_TRANSFERS_H
#define HOTLOOP_TRANSFERS_H

#include "core.h"
#include "structmember.h"

/* Source lines that are counted separately. */
#define MOST_LINES 512

typedef struct Transfers Transfers;

/* A tensor went to another device, or from one to Python: `what` is an interned name of it. */
void transfers_seen(Transfers *self, PyObject *what, long long size, int waits);
/* A CPU tensor was read from Python: counted until a tensor was seen on another device. */
void transfers_count_read(Transfers *self);
Region *transfers_region(Transfers *self);
Core *transfers_core(Transfers *self);

#endif
