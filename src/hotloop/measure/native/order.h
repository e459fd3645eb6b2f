/* Order, for the files that use it: see order.c. */

#ifndef HOTLOOP_ORDER_H
#define HOTLOOP_ORDER_H

#include "core.h"

enum { STEP, ADD, SAMPLE, ACT, FORWARD, BACKWARD, OPTIMIZER, PREPARE, KINDS };

/* The circumstances of a gap; see hooks/order.py. */
#define OFF_POLICY 2
#define CIRCUMSTANCES 3
/* How often a forecast must fail before it is changed. */
#define STUBBORNNESS 2
/* So many steps of another thread, and no event of the one that was listened to: it trains now. */
#define STRANGE_STEPS 64

/* What follows an event in given circumstances. Regions live as long as their core. */
typedef struct {
    Region *regions[KINDS]; /* the name of the gap by the event that ends it; NULL: nobody's */
    Region *gap;            /* the name that it is opened under, or NULL */
    char marked[KINDS];     /* its name is known to be inferred */
    int answer;
    int trust;
    int known;
} Moment;

typedef struct {
    PyObject_HEAD
    Core *core;
    Region *learn;
    Region *loss;
    PyObject *library; /* regions inside which the program's own order rests */
    PyObject *find;    /* (event, circumstances) -> the regions of the gap after it */
    PyObject *mark;    /* called with a name that was inferred */
    PyObject *judge;   /* called with what the network calls that wait were for */
    unsigned long long thread; /* whose events these are: see `order_is_own` */
    unsigned long long home;   /* the main one */
    int strange;               /* steps of other threads since the last event of that one */
    long long envs;
    long long steps;
    long long steps_before;
    long long updates;
    long long updates_before;
    Counter *learn_events;
    long long told; /* rows that a table knows of the next gradient step */
    int last;
    int where;
    char active;
    char off_policy;
    char gradients;
    char waiting;
    char loss_is_named;
    int in_loss;
    int loss_marked;
    unsigned long long moment_thread; /* whose moment it is */
    Moment *moment;
    Moment moments[KINDS * CIRCUMSTANCES * 2];
} Order;

/* Before it began, and once the garbage collector has been here, there is nothing to tell. */
HOTLOOP_INLINE int
order_is_over(Order *self)
{
    return self->core == NULL || self->judge == NULL;
}

/* Something is over. -1 with an exception if one of the callbacks failed. */
int order_event(Order *self, int kind);
/* The same inside a library's `learn`. */
int order_in_learn(Order *self, int kind);

HOTLOOP_INLINE int
order_tell(Order *self, int kind)
{
    return order_is_over(self) ? 0 : order_event(self, kind);
}

/* So many environments were stepped once, together. The same. */
int order_step(Order *self, long long envs);

#endif
