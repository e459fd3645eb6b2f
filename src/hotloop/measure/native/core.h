/* The region tree: what the native files share. */
#ifndef HOTLOOP_CORE_H
#define HOTLOOP_CORE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#if PY_VERSION_HEX < 0x030B0000
#include <frameobject.h> /* PyFrame_GetBack was not in Python.h yet */
#endif

#include <stddef.h>
#include <string.h>

#include "hidden.h"
#include "platform.h"

/* A histogram of durations: 32 linear steps in each power of two, so a bucket is at most 1/32
 * wide and its middle is within 1.6% of everything in it. Pages are made when first needed. */
#define OCTAVES 64
#define STEPS_BITS 5
#define STEPS (1 << STEPS_BITS)

/* Programs that make up a name in each step must not grow the tree for ever. */
#define MAX_NODES 4096
#define MAX_REGIONS 4096
#define MAX_ROOTS 8

/* A gap that lasts longer than this, and than this many times the longest that was claimed, is
 * likely to be no gap: the training loop has ended and something else runs. */
#define LONG_GAP_NS 50000000u
#define LONG_GAP_TIMES 10

/* A hook opens a gap right after the region that it is about; what is in between is hotloop's own
 * work. More than this is not, unless a note is running: it was reported late. */
#define MOST_OWN_NS 50000u

/* What a region's flags mean; hotloop.phases sets them. */
#define REGION_LOOP 1   /* belongs to the training loop */
#define REGION_ASIDE 2  /* what is inside is not the training loop (an evaluation) */
#define REGION_BESIDE 8 /* no step of the training loop: a gap around it continues after it */
#define REGION_RESTS 64  /* not timed between stretches */
#define REGION_LEARNS 128 /* its time is learning, for one optimizer or another */
#define REGION_SHALLOW 4 /* its stacks are many and deep, and only their outside tells anything */
/* A node's own: it has been entered, not only claimed a gap. */
#define NODE_CALLED 16

typedef struct Core Core;
typedef struct Region Region;
typedef struct Node Node;
typedef struct Timed Timed;
typedef struct Original Original;

struct Node {
    /* What every call needs, and what happened since the last snapshot: one line of a cache. */
    uint32_t id;
    uint32_t flags;
    uint64_t calls;
    uint64_t self_ns;
    uint64_t elapsed_ns;
    uint64_t min_ns;
    uint64_t max_ns;
    uint64_t first_ns;
    uint64_t last_ns;
    uint64_t gaps; /* of these calls, the gaps that were claimed */
    Node *parent;
    Region *region; /* NULL for a root; the core keeps regions alive */
    uint32_t root;
    volatile uint64_t resident_peak; /* written by the sampler's thread */
    uint32_t *histogram[OCTAVES];
    void *memory; /* that it lies in */
};

/* One line of a cache too. */
typedef struct {
    Node *node;
    Region *region;
    uint64_t begin;  /* of the slice that a trace will show; a snapshot cuts it */
    uint64_t mark;   /* counted up to here */
    uint64_t active; /* counted so far: the call's duration less what was disabled */
    uint64_t kept;   /* of a gap: what snapshots have taken already */
    Region *resume;  /* the gap that continues when this has ended, or NULL */
    int16_t nested;  /* a recursion: its time is already its outer call's */
    int16_t gap;     /* ends as anything else begins or ends */
} Frame;

/* The open regions of one contextvars context (one asyncio task) of one thread. */
typedef struct Stack {
    PyObject *context; /* strong, so that its address is not reused; NULL before the first */
    Node *base;
    Frame *frames; /* in `memory`, where a line of a cache begins */
    uint32_t depth;
    uint32_t room;
    struct Stack *next;   /* in the thread's list */
    struct Stack *before; /* and backwards */
    struct Stack *chain;  /* in the thread's hash table */
    void *memory;
} Stack;

/* One per thread of the operating system. A thread of native code has a new PyThreadState each time
 * that it calls Python: its record is used again. */
typedef struct Thread {
    uint64_t id; /* of its PyThreadState: never used twice */
    uint64_t ident; /* of the operating system's thread */
    uint64_t checked; /* when it was last known to live: see `core_drop_dead_threads` */
    uint32_t root;
    Stack *stacks; /* all of them */
    Stack *first;  /* the stack of the thread's first context */
    Stack *spare;  /* one that has ended, for the next task */
    Stack **table; /* all but the first, by context */
    uint32_t table_room;
    uint32_t table_count;
    Stack *stack;
    Node *volatile top; /* charged now; read by the sampler's thread */
    volatile uint64_t changes; /* of `top`: the sampler sees that it left a node and came back */
    uint64_t last;
    int in_network; /* a torch module is being called */
    int in_read;    /* a tensor is being read or moved */
    Region *counted; /* between stretches: the call that counts what is inside it */
    Timed *learning; /* owned: the call around, while it is learned where functions stand */
    struct Thread *next;
    struct Thread *chain; /* in the core's hash table */
} Thread;

/* Chains of the core's hash table of threads. */
#define THREAD_CHAINS 256

typedef struct {
    Node *parent;
    Region *region;
    Node *node;
} Edge;

/* A call, or the part of it between two snapshots, while a trace is kept. */
typedef struct {
    uint64_t begin;
    uint64_t end;
    uint32_t node;
    uint32_t unclaimed; /* of a gap that was not claimed */
} Slice;

/* A counter that native code adds to without asking Python; it goes among the others when they are
 * read. */
typedef struct {
    PyObject *name;
    long long n;
} Counter;

#define MOST_COUNTERS 16

/* How long a call took, until it is in its node's histogram. */
typedef struct {
    Node *node;
    uint64_t ns;
} Duration;

#define MOST_DURATIONS 256

struct Core {
    PyObject_HEAD
    /* What every call needs. */
    uint64_t serial;
    PyObject *clock; /* injected by tests; NULL is the system's */
    int enabled;
    int noting;      /* a note of a hook is running */
    int resting;     /* between two stretches: see stretches.c */
    int below;       /* environments below reward wrappers are followed: see returns.h */
    Region *head;    /* where stretches begin and end; NULL: every call is measured */
    Slice *slices;   /* NULL while no trace is kept */
    uint64_t loop_first;
    uint64_t loop_last;
    uint64_t own_ns; /* hotloop's work between regions and gaps since the last `own()` */
    Node *gap_parent;     /* where the gap that ended last was, until it is claimed */
    uint64_t gap_ns;      /* how long it was */
    uint64_t gap_left_ns; /* and how much of that is still with its parent */
    uint32_t slice_count;
    uint32_t slice_gap; /* slices from here on may be of the gap that can still be claimed */
    Duration *durations; /* that are in no histogram yet */
    uint32_t duration_count;
    Edge *edges;
    uint32_t edge_room;
    uint32_t edge_count;
    PyObject *describe; /* name -> flags, asked once a name */
    PyObject *special;  /* profile() with more than a name */
    PyObject *on_loop;  /* called once, as the training loop begins */
    PyObject *arrived;  /* an exception for the program that came meanwhile, not raised yet */
    PyObject *regions;  /* name -> Region */
    PyObject *counters; /* name -> number since the last snapshot */
    PyObject *failures; /* name of a hook -> its error */
    PyObject *reduce;   /* how pickle finds this core again, or NULL */
    Counter native_counters[MOST_COUNTERS];
    Region *off;        /* what profile() answers while disabled */
    Node **nodes;
    uint32_t node_count;
    uint64_t learnt_ns; /* own time of learning that snapshots have taken */
    Node *overflow[MAX_ROOTS];
    Thread *threads;
    Thread *thread_table[THREAD_CHAINS];
    uint32_t root_threads[MAX_ROOTS]; /* how many threads have each root */
    uint64_t checks; /* of which threads live */
    unsigned long main_ident; /* of the main thread; 0: not known yet */
    Thread *main_thread;
    uint64_t unmatched;
    uint64_t dropped; /* counts that were not finite */
    Region *rest;    /* open between two stretches */
    uint32_t head_depth;
    uint64_t head_left;    /* entries of the head until the next switch */
    uint64_t head_entries; /* so far */
    uint64_t measured_entries;
    uint64_t rest_entries;
    uint64_t random;
    PyObject *rested_counters; /* names that are not counted between stretches; a set, or NULL */
    uint32_t slice_room;
    uint64_t slices_lost;
    PyObject *watched; /* a counter's name, or NULL */
    double watch_left;
    PyObject *watch_call;
};

struct Region {
    PyObject_HEAD
    Core *core; /* NULL for the region that does nothing */
    /* The node under which it was entered last, and its own node there: nearly always the same again. */
    Node *parent;
    Node *node;
    uint32_t flags;
    int nested; /* that node is one around it: a recursion */
    uint64_t entered; /* how often, in all threads */
    uint64_t longest_ns; /* of its gaps that were claimed */
    PyObject *name;
    PyObject *enter_call;
    PyObject *exit_call;
};

extern PyTypeObject CoreType, BeforeType, CompiledRunsType, ListCallsType, MarkType, OneThreadType, RegionType, RegionCallType, RegionMethodType, TimedType, SamplerType,
    EventOrderType, UpdatesType, NetworksType, StepsType, TensorMethodType, TransfersType,
    OriginalType, LinkType;
extern PyMethodDef termination_methods[], subclasses_methods[], own_frames_methods[];

/* core.c: add to a counter while another is watched. Errors are settled. */
void core_count(Core *core, PyObject *name, long long n);
/* The counter of that name for `counter_add`; lives as long as the core. NULL with an exception. */
Counter *core_counter(Core *core, const char *name);
/* The region of that name; lives as long as the core. NULL with an exception. */
Region *core_region_named(Core *core, const char *name);

/* tree.c */
void core_file_durations(Core *core);
Node *node_new(Core *core, Node *parent, Region *region, uint32_t root);

/* threads.c */

/* The thread that was found last, so that the hot path need not search: the GIL changes hands far
 * less often than regions do. Keyed by the core's serial: a core's address may be another's later. */
typedef struct {
    uint64_t serial; /* 0: none */
    uint64_t id;
    Thread *thread;
} Found;

extern Found core_found;

/* The thread that `core_thread` did not find at once; NULL without memory. */
Thread *core_find_thread(Core *core, uint64_t id);
/* Frees a thread's record; what is open in it has to be closed before. */
void core_free_thread(Core *core, Thread *thread);
/* Closes all that is open in a thread. */
void thread_close(Core *core, Thread *thread, uint64_t now);
/* Frees the stacks of tasks that have ended, in all threads. */
void core_drop_dead_stacks(Core *core, uint64_t now);
Thread **thread_chain(Core *core, uint64_t ident);
int on_main_thread(Core *core);
/* Room for that many frames, each in a line of a cache of its own; 0 without memory. */
int stack_make_room(Stack *stack, uint32_t room);
/* Removes the stack of a task that has nothing open. Returns its context, for the caller to release:
 * that may run Python. */
PyObject *stack_end(Thread *thread, Stack *stack);

/* stacks.c */
void thread_skip(Thread *thread, Stack *stack, uint64_t ns);
void thread_take_own(Core *core, Thread *thread, uint64_t ns);
void core_keep_slice(Core *core, Frame *frame, uint64_t now);
void core_claim_slices(Core *core, Node *was, Node *node);
void node_move(Node *gap, Node *parent, uint64_t ns);
void thread_end_gap(Core *core, Thread *thread, Stack *stack, uint64_t now);
void region_enter(Region *region);
int region_raise_arrived(Region *region);
void stack_enter(Core *core, Thread *thread, Stack *stack, Region *region);
void frame_close(Core *core, Frame *frame, uint64_t now);
void region_enter_gap(Region *region);
void region_open_gap(Region *region);
void core_claim_gap(Core *core, Region *region);
void core_note_failure(Core *core, PyObject *name);
/* An error of hotloop's own code never reaches the program: it is kept as the failure of `name`, or
 * dropped without one. Ctrl-C and exits are the program's: they are raised again in its code. */
void core_settle_error(Core *core, PyObject *name);
void region_exit(Region *region);
void core_count_open(Core *core, uint64_t now);
void core_skip_open(Core *core, uint64_t now);

/* region.c */
int region_type_add_methods(void);
Region *region_new(Core *core, PyObject *name, uint32_t flags);

/* timed.c */
int core_is_open(Core *core, Region *region);
void region_exit_with_error(Region *region);
/* The region that this thread is in, gaps left out; NULL outside. */
Region *core_innermost(Core *core);

/* stretches.c */
void stretches_tick(Core *core);
void stretches_stop(Core *core);
void stretches_end_rest(Core *core);
/* Whether a note only serves what is measured, and has nothing to count between stretches. */
int events_is_note(PyObject *note);
int updates_is_note(PyObject *note);

/* ---- small steps of the hot path ---- */

/* Where in its code a frame is. */
HOTLOOP_INLINE int
instruction_of(PyFrameObject *frame)
{
#if PY_VERSION_HEX >= 0x030B0000
    return PyFrame_GetLasti(frame);
#else
    return frame->f_lasti * (int)sizeof(_Py_CODEUNIT);
#endif
}

HOTLOOP_INLINE uint64_t
core_now(Core *core)
{
    if (core->clock == NULL) {
        return platform_clock_ns();
    }
    PyObject *answer = PyObject_CallNoArgs(core->clock);
    uint64_t now = 0;
    if (answer != NULL) {
        now = PyLong_AsUnsignedLongLong(answer);
        Py_DECREF(answer);
    }
    core_settle_error(core, NULL);
    return now;
}

HOTLOOP_INLINE void
counter_add(Core *core, Counter *counter, long long n)
{
    if (RARELY(core->watched != NULL)) {
        core_count(core, counter->name, n);
    }
    else if (core->enabled) {
        counter->n += n;
    }
}

/* A call has ended. A histogram is two cache lines that were not touched since the node's
 * last call; a row of durations is one line for four calls, and all of them are filed together. */
HOTLOOP_INLINE void
core_add_duration(Core *core, Node *node, uint64_t ns)
{
    core->durations[core->duration_count++] = (Duration){node, ns};
    if (RARELY(core->duration_count == MOST_DURATIONS)) {
        core_file_durations(core);
    }
}

HOTLOOP_INLINE uint32_t
edge_slot(Core *core, Node *parent, Region *region)
{
    uintptr_t mixed = ((uintptr_t)parent >> 4) * 31u + ((uintptr_t)region >> 4);
    return (uint32_t)(mixed ^ (mixed >> 15)) & (core->edge_room - 1);
}

/* Makes the node that `node_child` did not find. */
Node *node_make_child(Core *core, Node *parent, Region *region);

HOTLOOP_INLINE Node *
node_child(Core *core, Node *parent, Region *region)
{
    uint32_t slot = edge_slot(core, parent, region);
    for (;;) {
        Edge *edge = &core->edges[slot];
        if (edge->parent == parent && edge->region == region) {
            return edge->node;
        }
        if (edge->node == NULL) {
            return node_make_child(core, parent, region);
        }
        slot = (slot + 1) & (core->edge_room - 1);
    }
}

HOTLOOP_INLINE Thread *
core_thread_of(Core *core, PyThreadState *state)
{
    /* A thread of native code has a new state, with a new number, each time that it calls Python. */
    if (RARELY(core_found.serial != core->serial || core_found.id != state->id)) {
        return core_find_thread(core, state->id);
    }
    return core_found.thread;
}

HOTLOOP_INLINE Thread *
core_thread(Core *core)
{
    return core_thread_of(core, PyThreadState_Get());
}

void thread_change_stack(Thread *thread, PyObject *context);

HOTLOOP_INLINE Stack *
thread_stack_of(Thread *thread, PyThreadState *state)
{
    if (RARELY(state->context != thread->stack->context)) {
        thread_change_stack(thread, state->context);
    }
    return thread->stack;
}

HOTLOOP_INLINE Stack *
thread_stack(Thread *thread)
{
    return thread_stack_of(thread, PyThreadState_Get());
}

HOTLOOP_INLINE Node *
stack_top(Stack *stack)
{
    return stack->depth ? stack->frames[stack->depth - 1].node : stack->base;
}

HOTLOOP_INLINE void
thread_set_top(Thread *thread, Node *node)
{
    thread->top = node;
    thread->changes++;
}

HOTLOOP_INLINE void
thread_charge(Thread *thread, uint64_t now)
{
    if (now > thread->last) {
        thread->top->self_ns += now - thread->last;
        thread->last = now;
    }
}

HOTLOOP_INLINE int
stack_in_gap(Stack *stack)
{
    return stack->depth && stack->frames[stack->depth - 1].gap;
}

/* Whether one of the open regions, gaps left out, is this one. */
HOTLOOP_INLINE int
stack_has(Stack *stack, Region *region)
{
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    for (uint32_t i = 0; i < depth; i++) {
        if (stack->frames[i].region == region) {
            return 1;
        }
    }
    return 0;
}

/* Count a frame up to now, and leave it open. */
HOTLOOP_INLINE void
frame_count(Frame *frame, uint64_t now)
{
    if (now > frame->mark) {
        uint64_t part = now - frame->mark;
        frame->active += part;
        frame->mark = now;
        if (!frame->nested) {
            frame->node->elapsed_ns += part;
        }
    }
}

#endif
