/* Updates: gradient steps and the batches that they learn from; see updates.c. */
#ifndef HOTLOOP_UPDATES_H
#define HOTLOOP_UPDATES_H

#include "events.h"

/* Networks and optimizers that are counted separately: more than programs train at once. */
#define MOST_NETWORKS 64
/* One result of a network in this many is shown to Python: of those that act, and of those that
 * learn. So is one loss, and the buffer of one batch. Primes where an update has several, of which
 * each gets its turn. */
#define SHOWN_ACTS 32
#define SHOWN_FORWARDS 31
#define SHOWN_LOSSES 31
#define SHOWN_SAMPLES 61

typedef struct Updates Updates;

/* A network was called with gradients on a batch; `sequences`: that its rows are of, or 0. */
void updates_saw(Updates *self, void *network, long long batch_size, long long sequences);

#endif
