/* Transfers, for the file that uses them: see transfers.c. */

#ifndef HOTLOOP_TRANSFERS_H
#define HOTLOOP_TRANSFERS_H

#include "core.h"
#include "structmember.h"

/* Lines of the program that are told apart, and how far up a stack the program is looked for; the
 * same as in hotloop.hooks.transfers. */
#define MOST_LINES 512
#define DEEPEST 40

typedef struct Transfers Transfers;

/* A tensor went to another device, or from one to Python: `what` is an interned word for it. -1 with
 * an exception. */
int transfers_seen(Transfers *self, PyObject *what, long long size, int waits);
Region *transfers_region(Transfers *self);

#endif
