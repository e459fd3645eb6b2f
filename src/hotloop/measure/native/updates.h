/* Updates: gradient steps and the batches that they learn from; see updates.c. */
#ifndef HOTLOOP_UPDATES_H
#define HOTLOOP_UPDATES_H

#include "events.h"

/* Networks and optimizers that are counted separately: more than programs train at once. */
#define MOST_NETWORKS 64
/* One loss, and the buffer of one batch, in this many is shown to Python. Primes: of several losses
 * or buffers that alternate, each gets its turn. */
#define SHOWN_LOSSES 31
#define SHOWN_SAMPLES 61

typedef struct Updates Updates;

/* A network was called with gradients on a batch. */
void updates_saw(Updates *self, void *network, long long batch_size);

#endif
