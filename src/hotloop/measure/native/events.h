/* EventOrder: the order in which the parts of a training loop happen; see events.c. */
#ifndef HOTLOOP_EVENTS_H
#define HOTLOOP_EVENTS_H

#include "core.h"

/* What can happen, in the order of a training loop. PREPARE: gradients are set to zero or clipped.
 * INFERENCE: a network was called without gradients, and nothing shows what for. SCORE, REFERENCE: a
 * language model judged completions, the one that wrote them or the one it is compared with. */
enum {
    STEP, ADD, SAMPLE, ACT, FORWARD, BACKWARD, OPTIMIZER, PREPARE, INFERENCE, SCORE, REFERENCE,
    EVENTS
};

/* Instead of an event, for the result of a network inside a phase that chooses an action. */
#define ACT_INSIDE -1

/* The circumstances of a gap: whether the update has called a network with gradients before it, or,
 * whatever it has done, its batches come from a replay buffer. */
enum { NO_GRADIENTS, GRADIENTS, OFF_POLICY, CIRCUMSTANCES };

/* How often a forecast must fail before it changes: the last step of a rollout must not spoil what
 * is known of all the others. */
#define HYSTERESIS 2

/* The order follows another thread after this many steps there without an event in its own. */
#define FOREIGN_STEPS 64

/* Network calls that are remembered, and those whose purpose the next event decides: more than a
 * training loop makes, so that any other program does not grow these for ever. */
#define MOST_CALLS 2048
#define MOST_WAITING 256

/* What came last time, with hysteresis. */
typedef struct {
    int expected;
    int trust;
} Forecast;

HOTLOOP_INLINE int
forecast_is_sure(const Forecast *forecast, int value)
{
    return forecast->expected == value && forecast->trust == HYSTERESIS;
}

/* What follows an event in given circumstances. Regions live as long as their core. */
typedef struct {
    Region *regions[EVENTS]; /* the gap's region by the event that ends it; NULL: it has no name */
    Region *gap;             /* the region under which the gap is opened, or NULL */
    char identified[EVENTS]; /* Python has seen the code of such a gap */
    Forecast next;
    int known;
    char opened; /* its regions were found as it began, not as it ended */
} GapForecast;

/* A network called with one batch size after one event, and what that was for. */
typedef struct {
    void *network; /* NULL: free */
    long long batch_size;
    int gradients;
    int before;
    Forecast purpose;
} NetworkCall;

#define LIBRARY_PHASES 6

typedef struct {
    PyObject_HEAD
    Core *core;
    Region *learn;
    Region *loss;
    Region *library[LIBRARY_PHASES]; /* inside these the program's own order rests */
    PyObject *gap_regions; /* (event, circumstances) -> the regions of the gap after it */
    PyObject *identify;    /* (before, after, circumstances) -> the region of a gap that has ended */
    unsigned long long thread; /* the thread that trains: see `is_training_thread` */
    unsigned long long home;   /* the main thread */
    int foreign_steps;         /* steps of other threads since its last event */
    long long envs;            /* that step together; 0 until one has stepped */
    long long steps;           /* since the last update */
    long long steps_before;
    long long updates;         /* since the last step */
    long long updates_before;
    long long known_batch_size; /* of the next gradient step, as a table knows it; 0: unknown */
    long long drawn_rows; /* of batches drawn since the last gradient step; 0: unknown */
    long long actors;     /* networks that have chosen actions */
    long long learning_batch;   /* batch size of the last call with gradients; 0: none yet */
    Counter *learn_events;
    Counter *gap_ns;
    int last;          /* event */
    int circumstances; /* at that event */
    char active;       /* a network was called or a gradient taken */
    char off_policy;   /* batches are larger than what was collected for them */
    char gradients;    /* this update has called a network with gradients */
    char is_table;     /* the program learns inline in a table of values */
    char loss_is_named;
    char in_loss;
    char loss_marked;
    unsigned long long gap_thread; /* the thread that opened the gap */
    GapForecast *gap;              /* that is open, or NULL */
    GapForecast gaps[EVENTS * CIRCUMSTANCES * 2];
    NetworkCall *calls; /* a hash table, made at the first call */
    uint32_t call_count;
    uint32_t call_room; /* a power of two */
    uint32_t waiting[MOST_WAITING]; /* calls whose purpose the next event decides */
    uint32_t waiting_count;
} EventOrder;

void forecast_learn(Forecast *forecast, int value);

/* events.c. Errors of callbacks are kept in the core's failures. */
void events_happened(EventOrder *self, int event);
void events_happened_in_learn(EventOrder *self, int event);
void events_stepped(EventOrder *self, long long envs);
/* The same between two stretches: only lengths of rollouts and updates are followed. */
void events_rested(EventOrder *self, int event, long long envs);
/* Libraries name other phases than before. */
void events_forget_gaps(EventOrder *self);
void events_learn_inline(EventOrder *self, int is_table);
/* Environment steps that the update in progress learns from. */
long long events_collected(EventOrder *self);

/* calls.c: ACT, FORWARD or INFERENCE. `sure`: this was so before. */
int calls_purpose(EventOrder *self, void *network, int gradients, long long batch_size, int *sure);
void calls_decide(EventOrder *self, int purpose);
/* SCORE or REFERENCE, as a function of the network's class says; else INFERENCE. May leave an exception. */
int calls_of_object(PyObject *choose, PyObject *network);

#endif
