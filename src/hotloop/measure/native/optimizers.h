/* Optimizers: which one steps, how often, and how long was learned for it; see optimizers.c. */
#ifndef HOTLOOP_OPTIMIZERS_H
#define HOTLOOP_OPTIMIZERS_H

#include "core.h"

#define MOST_OPTIMIZERS 32

/* One optimizer, or several in turn for the same parameters. */
typedef struct {
    void *key;
    PyObject *steps; /* names of its counters; NULL: it has no name */
    PyObject *ns;
} KnownOptimizer;

typedef struct {
    KnownOptimizer all[MOST_OPTIMIZERS];
    int count;
    Node **learning; /* nodes whose time is learning */
    uint32_t learning_count;
    uint32_t learning_room;
    uint32_t scanned;   /* nodes of the core that were looked at */
    uint64_t learnt_ns; /* in them at the last step */
} Optimizers;

/* What an optimizer is counted as: a new one for the same parameters is the same. */
void *optimizer_key(PyObject *optimizer);
/* An optimizer has stepped. `name` is asked once for each: (optimizer) -> its counters or None. */
void optimizers_stepped(Optimizers *self, Core *core, void *key, PyObject *optimizer, PyObject *name);
void optimizers_end(Optimizers *self);

#endif
