/* The sampler: which Python lines run in which phase, about a hundred times a second.
 *
 * A thread of our own, without the GIL, asks the main thread to look at itself (Py_AddPendingCall).
 * The main thread does so at its next bytecode boundary, which is in the very frame whose native call
 * was under way, or before it enters or leaves a region, so that the code and the phase are of one
 * moment. No signal interrupts a system call, no GIL changes hands, and lines that hold the GIL are
 * seen as often as lines that release it. How long the answer took tells Python from native code; the
 * thread's processor time tells running from waiting. When no answer comes (the main thread is
 * blocked), this thread takes the GIL and looks at every thread itself. */

#include "core.h"

void nudge_main_thread(PyInterpreterState *interpreter); /* nudge.c */

#define MAX_DEPTH 128
#define SHALLOW_DEPTH 12         /* of an import: the program's line, and what it set off */
#define MAX_STACKS (1u << 16)
#define OTHERS_EVERY 5           /* ticks between looks at the threads that are not main */
#define UNANSWERED_TICKS 3       /* then the main thread is taken to be blocked */
#define PYTHON_ANSWERS_NS 6000   /* a bytecode boundary is nearer than this; a native call's end is not */
#define WAITING_NS 200000        /* below this, processor time is too coarse to judge by */
#define NO_CORE_NS 50000         /* that the main thread is kept from its core by the one that asks */

enum { MODE_PYTHON, MODE_NATIVE, MODE_WAITING, MODE_UNKNOWN };

typedef struct {
    uint32_t parent;
    PyObject *code;
    int line;
    uint32_t id; /* 0 is an empty slot */
} StackEntry;

typedef struct {
    uint32_t node;
    uint32_t stack;
    uint32_t mode;
    uint32_t count; /* 0 is an empty slot */
    uint64_t ns;
} SampleEntry;

/* The line of an instruction, which Python finds by going through all lines before it. The codes are
 * those of stacks, which keep them. */
typedef struct {
    PyObject *code;
    int instruction;
    int line;
} LineEntry;

#define MOST_LINES 1024

typedef struct {
    PyObject_HEAD
    Core *core;
    uint64_t interval;
    PyObject *root_code; /* frames from here outwards are hotloop's own */
    PyInterpreterState *interpreter;
    volatile int running;
    volatile int started;
#if defined(_WIN32)
    HANDLE thread;
#else
    pthread_t thread;
#endif
    /* The question now under way. */
    volatile int pending;
    volatile int queued; /* a pending call is still to come; the queue is short, so at most one */
    volatile uint64_t asked_ns;
    volatile uint64_t asked_cpu;
    ThreadClock main_clock;
    int has_main_clock;
    unsigned long main_ident;
    uint64_t last_main;
    uint64_t last_others;
    uint32_t ticks;
    volatile uint64_t resident;
    volatile uint64_t resident_peak;
    /* Answers since the last drain. */
    StackEntry *stacks;
    uint32_t stack_room;
    uint32_t stack_count;
    LineEntry *lines;
    SampleEntry *samples;
    uint32_t sample_room;
    uint32_t sample_count;
    PyObject *new_stacks;
    uint64_t cost_ns;
    uint32_t taken;
} Sampler;

/* ---- tables ---- */

static int
stacks_grow(Sampler *self)
{
    uint32_t room = self->stack_room * 2;
    StackEntry *bigger = PyMem_RawCalloc(room, sizeof(StackEntry));
    if (bigger == NULL) {
        return 0;
    }
    for (uint32_t i = 0; i < self->stack_room; i++) {
        StackEntry *entry = &self->stacks[i];
        if (entry->id == 0) {
            continue;
        }
        uint32_t slot = (entry->parent * 31u + (uint32_t)((uintptr_t)entry->code >> 4) +
                         (uint32_t)entry->line * 7u) & (room - 1);
        while (bigger[slot].id != 0) {
            slot = (slot + 1) & (room - 1);
        }
        bigger[slot] = *entry;
    }
    PyMem_RawFree(self->stacks);
    self->stacks = bigger;
    self->stack_room = room;
    return 1;
}

static PyObject *
code_name(PyObject *code)
{
    PyObject *name = PyObject_GetAttrString(code, "co_qualname");
    if (name == NULL) {
        PyErr_Clear();
        name = PyObject_GetAttrString(code, "co_name"); /* before Python 3.11 */
    }
    return name;
}

/* The id of the stack that is `parent` with one more frame; `parent` itself when full. */
static uint32_t
stack_intern(Sampler *self, uint32_t parent, PyObject *code, int line)
{
    uint32_t mask = self->stack_room - 1;
    uint32_t slot = (parent * 31u + (uint32_t)((uintptr_t)code >> 4) + (uint32_t)line * 7u) & mask;
    while (self->stacks[slot].id != 0) {
        StackEntry *entry = &self->stacks[slot];
        if (entry->parent == parent && entry->code == code && entry->line == line) {
            return entry->id;
        }
        slot = (slot + 1) & mask;
    }
    if (self->stack_count + 1 >= MAX_STACKS) {
        return parent;
    }
    uint32_t id = self->stack_count + 1;
    PyObject *name = code_name(code);
    PyObject *row = name == NULL ? NULL : Py_BuildValue(
        "(IIOOii)", id, parent, ((PyCodeObject *)code)->co_filename, name,
        ((PyCodeObject *)code)->co_firstlineno, line);
    Py_XDECREF(name);
    int failed = row == NULL || PyList_Append(self->new_stacks, row);
    Py_XDECREF(row);
    if (failed) {
        PyErr_Clear();
        return parent;
    }
    Py_INCREF(code);
    self->stacks[slot] = (StackEntry){parent, code, line, id};
    self->stack_count++;
    if (self->stack_count * 2 > self->stack_room) {
        stacks_grow(self);
    }
    return id;
}

static void
sample_add(Sampler *self, uint32_t node, uint32_t stack, uint32_t mode, uint32_t count, uint64_t ns)
{
    uint32_t mask = self->sample_room - 1;
    uint32_t slot = (node * 131u + stack * 31u + mode) & mask;
    while (self->samples[slot].count != 0) {
        SampleEntry *entry = &self->samples[slot];
        if (entry->node == node && entry->stack == stack && entry->mode == mode) {
            entry->count += count;
            entry->ns += ns;
            return;
        }
        slot = (slot + 1) & mask;
    }
    self->samples[slot] = (SampleEntry){node, stack, mode, count, ns};
    self->sample_count++;
    if (self->sample_count * 2 <= self->sample_room) {
        return;
    }
    SampleEntry *old = self->samples;
    uint32_t old_room = self->sample_room;
    SampleEntry *bigger = PyMem_RawCalloc((size_t)old_room * 2, sizeof(SampleEntry));
    if (bigger == NULL) {
        return; /* still a quarter free at the least; the next drain empties it */
    }
    self->samples = bigger;
    self->sample_room = old_room * 2;
    self->sample_count = 0;
    for (uint32_t i = 0; i < old_room; i++) {
        if (old[i].count != 0) {
            sample_add(self, old[i].node, old[i].stack, old[i].mode, old[i].count, old[i].ns);
        }
    }
    PyMem_RawFree(old);
}

/* ---- looking ---- */

/* The id of the stack that is `parent` with this frame. */
static uint32_t
stack_with(Sampler *self, uint32_t parent, PyFrameObject *frame)
{
    PyObject *code = (PyObject *)PyFrame_GetCode(frame);
    int instruction = instruction_of(frame);
    LineEntry *known = &self->lines[(((uintptr_t)code >> 4) * 31u + (uint32_t)instruction) % MOST_LINES];
    int is_known = known->code == code && known->instruction == instruction;
    int line = is_known ? known->line : PyFrame_GetLineNumber(frame);
    uint32_t stack = stack_intern(self, parent, code, line > 0 ? line : 0);
    if (!is_known && stack != parent) { /* otherwise nobody keeps the code */
        *known = (LineEntry){code, instruction, line};
    }
    Py_DECREF(code);
    return stack;
}

/* `node` may be NULL: the thread has no phase yet. */
static void
look_at(Sampler *self, PyThreadState *state, Node *node, uint32_t root, uint32_t mode, uint64_t ns)
{
    PyFrameObject *frames[MAX_DEPTH];
    int depth = 0;
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
    /* A thread that comes from native code makes its state before it has the GIL: it is in the
     * list for a moment with nothing in it, and PyThreadState_GetFrame does not ask. */
    if (state->cframe == NULL) {
        return;
    }
#endif
    PyFrameObject *frame = PyThreadState_GetFrame(state);
    while (frame != NULL && depth < MAX_DEPTH) {
        PyCodeObject *code = PyFrame_GetCode(frame);
        int outside = (PyObject *)code == self->root_code;
        Py_DECREF(code); /* the frame keeps it */
        if (outside) {
            break;
        }
        frames[depth++] = frame;
        frame = PyFrame_GetBack(frame);
    }
    Py_XDECREF(frame);
    int inmost = 0;
    if (node != NULL && (node->flags & REGION_SHALLOW) && depth > SHALLOW_DEPTH) {
        inmost = depth - SHALLOW_DEPTH;
    }
    uint32_t stack = 0;
    for (int i = depth - 1; i >= 0; i--) {
        if (i >= inmost) {
            stack = stack_with(self, stack, frames[i]);
        }
        Py_DECREF(frames[i]);
    }
    if (depth > 0) {
        sample_add(self, node != NULL ? node->id : root, stack, mode, 1, ns);
    }
}

static void
look_at_others(Sampler *self, uint64_t now)
{
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    for (; state != NULL; state = PyThreadState_Next(state)) {
        if (state->thread_id == self->main_ident) {
            continue;
        }
        uint64_t id = PyThreadState_GetID(state);
        Node *node = NULL;
        for (Thread *thread = self->core->threads; thread != NULL; thread = thread->next) {
            if (thread->id == id) {
                node = thread->top;
            }
        }
        look_at(self, state, node, MAX_ROOTS - 1, MODE_UNKNOWN, now - self->last_others);
    }
    self->last_others = now;
}

static uint32_t
main_mode(Sampler *self, uint64_t now)
{
    uint64_t delay = now - self->asked_ns;
    if (delay < PYTHON_ANSWERS_NS) {
        return MODE_PYTHON;
    }
    if (self->has_main_clock) {
        uint64_t busy = platform_thread_cpu_ns(self->main_clock) - self->asked_cpu;
        if (delay > WAITING_NS && busy < delay / 2) {
            return MODE_WAITING;
        }
        if (delay < NO_CORE_NS && busy < PYTHON_ANSWERS_NS) {
            return MODE_PYTHON;
        }
    }
    return MODE_NATIVE;
}

static void
answer(Sampler *self, PyThreadState *main_state)
{
    uint64_t now = platform_clock_ns();
    Thread *thread = self->core->main_thread;
    Node *node = thread != NULL ? thread->top : NULL;
    /* Making a frame's object may set off a garbage collection, and that may run Python, which may
     * give the GIL away: the frame that was being looked at would be gone. (CPython does the same
     * in sys._current_frames, gh-106883.) */
    int collects = PyGC_Disable();
    look_at(self, main_state, node, 0, main_mode(self, now), now - self->last_main);
    self->last_main = now;
    if (now - self->last_others >= OTHERS_EVERY * self->interval) {
        look_at_others(self, now);
    }
    if (collects) {
        PyGC_Enable();
    }
    self->taken++;
    self->core->question = NULL; /* first: the next one may be asked right after */
    self->pending = 0;
}

/* Runs in the main thread. */
void
sampler_answer(void *sampler)
{
    Sampler *self = sampler;
    if (!self->running || !self->pending) {
        self->core->question = NULL;
        return;
    }
    if (PyErr_Occurred()) {
        return; /* of the program's: at the next boundary there is none */
    }
    uint64_t begin = platform_clock_ns();
    answer(self, PyThreadState_Get());
    uint64_t cost = platform_clock_ns() - begin;
    self->cost_ns += cost;
    /* The look is hotloop's time, not the phase's. */
    Thread *thread = self->core->main_thread;
    if (thread != NULL && self->core->enabled) {
        thread->last += cost;
        for (uint32_t i = 0; i < thread->stack->depth; i++) {
            thread->stack->frames[i].mark += cost;
        }
    }
}

/* The same at a bytecode boundary. */
static int
answer_in_main(void *argument)
{
    ((Sampler *)argument)->queued = 0;
    sampler_answer(argument);
    return 0;
}

/* Runs in our own thread: the main thread did not answer. */
static void
answer_for_main(Sampler *self)
{
    PyGILState_STATE gil = PyGILState_Ensure();
    if (self->running && self->pending) {
        PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
        while (state != NULL && state->thread_id != self->main_ident) {
            state = PyThreadState_Next(state);
        }
        if (state != NULL) {
            answer(self, state);
        }
    }
    PyGILState_Release(gil);
}

static void
note_resident(Sampler *self, Node *node)
{
    uint64_t resident = platform_resident_bytes();
    self->resident = resident;
    if (resident > self->resident_peak) {
        self->resident_peak = resident;
    }
    for (; node != NULL; node = node->parent) {
        if (resident > node->resident_peak) {
            node->resident_peak = resident;
        }
    }
}

static void
tick(Sampler *self)
{
    Thread *thread = self->core->main_thread;
    self->ticks++;
    uint64_t now = platform_clock_ns();
    Node *node = thread != NULL ? thread->top : NULL;
    if (!self->pending) {
        self->asked_cpu = self->has_main_clock ? platform_thread_cpu_ns(self->main_clock) : 0;
        self->asked_ns = platform_clock_ns();
        self->pending = 1;
        FENCE(); /* who sees the question sees when it was asked */
        self->core->question = self;
        if (!self->queued) {
            self->queued = 1;
            if (Py_AddPendingCall(answer_in_main, self) < 0) {
                self->queued = 0; /* others have filled the queue */
            }
        }
        nudge_main_thread(self->interpreter);
    }
    else if (now - self->asked_ns > UNANSWERED_TICKS * self->interval) {
        answer_for_main(self);
    }
    /* Last, because it takes longer than some phases. */
    note_resident(self, node);
}

#if defined(_WIN32)
static unsigned __stdcall
sampler_main(void *argument)
#else
static void *
sampler_main(void *argument)
#endif
{
    Sampler *self = argument;
    uint64_t due = platform_clock_ns();
    while (self->running) {
        due += self->interval;
        uint64_t now = platform_clock_ns();
        if (due < now) {
            due = now; /* late (a suspended machine, a blocked GIL): do not catch up in a burst */
        }
        platform_sleep_until(due);
        if (self->running) {
            tick(self);
        }
    }
    return 0;
}

/* ---- the Python side ---- */

PyDoc_STRVAR(sampler_start_doc, "start()\n--\n\nBegin to sample; called in the main thread.");

static PyObject *
sampler_start(Sampler *self, PyObject *unused)
{
    (void)unused;
    if (self->running) {
        Py_RETURN_NONE;
    }
    self->main_ident = PyThread_get_thread_ident();
    self->interpreter = PyInterpreterState_Get();
    self->has_main_clock = platform_thread_clock(&self->main_clock);
    self->last_main = self->last_others = platform_clock_ns();
    self->pending = self->queued = 0;
    self->running = 1;
#if defined(_WIN32)
    self->thread = (HANDLE)_beginthreadex(NULL, 0, sampler_main, self, 0, NULL);
    int failed = self->thread == 0;
#else
    int failed = pthread_create(&self->thread, NULL, sampler_main, self) != 0;
#endif
    if (failed) {
        self->running = 0;
        PyErr_SetString(PyExc_RuntimeError, "the sampler's thread could not be started");
        return NULL;
    }
    if (!self->started) {
        /* A queued pending call may outlive every other reference, so it is never freed. */
        Py_INCREF(self);
        self->started = 1;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(sampler_stop_doc, "stop()\n--\n\nEnd; what was sampled stays to be drained.");

static PyObject *
sampler_stop(Sampler *self, PyObject *unused)
{
    (void)unused;
    if (self->running) {
        self->running = 0;
        Py_BEGIN_ALLOW_THREADS
#if defined(_WIN32)
        WaitForSingleObject(self->thread, INFINITE);
        CloseHandle(self->thread);
#else
        pthread_join(self->thread, NULL);
#endif
        Py_END_ALLOW_THREADS
        self->core->question = NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(sampler_after_fork_doc,
"after_fork()\n--\n\nIn a forked child: the thread is gone, and so are the parent's samples.");

static PyObject *
sampler_after_fork(Sampler *self, PyObject *unused)
{
    (void)unused;
    self->running = 0;
    self->pending = self->queued = 0;
    self->core->question = NULL;
    self->resident_peak = 0;
    memset(self->samples, 0, self->sample_room * sizeof(SampleEntry));
    self->sample_count = 0;
    Py_RETURN_NONE;
}

static PyObject *
sampler_take(Sampler *self)
{
    PyObject *samples = PyList_New(0);
    for (uint32_t i = 0; samples != NULL && i < self->sample_room; i++) {
        SampleEntry *entry = &self->samples[i];
        if (entry->count == 0) {
            continue;
        }
        PyObject *row = Py_BuildValue("(IIIIK)", entry->node, entry->stack, entry->mode,
                                      entry->count, (unsigned long long)entry->ns);
        if (row == NULL || PyList_Append(samples, row)) {
            Py_CLEAR(samples);
        }
        Py_XDECREF(row);
        entry->count = 0;
    }
    self->sample_count = 0;
    return samples;
}

PyDoc_STRVAR(sampler_drain_doc,
"drain()\n--\n\n"
"(samples, stacks, cost_ns, resident, resident_peak) since the last drain. A sample is (node,\n"
"stack, mode, count, ns); a new stack (id, parent, file, function, first line, line).");

static PyObject *
sampler_drain(Sampler *self, PyObject *unused)
{
    (void)unused;
    /* A garbage collection may run Python, and with it an answer that changes the table. */
    int collects = PyGC_Disable();
    PyObject *samples = sampler_take(self);
    if (collects) {
        PyGC_Enable();
    }
    if (samples == NULL) {
        return NULL;
    }
    PyObject *stacks = self->new_stacks;
    self->new_stacks = PyList_New(0);
    uint64_t cost = self->cost_ns, peak = self->resident_peak;
    self->cost_ns = 0;
    self->resident_peak = self->resident;
    return Py_BuildValue("(NNKKK)", samples, stacks, (unsigned long long)cost,
                         (unsigned long long)self->resident, (unsigned long long)peak);
}

static PyMethodDef sampler_methods[] = {
    {"start", (PyCFunction)sampler_start, METH_NOARGS, sampler_start_doc},
    {"stop", (PyCFunction)sampler_stop, METH_NOARGS, sampler_stop_doc},
    {"after_fork", (PyCFunction)sampler_after_fork, METH_NOARGS, sampler_after_fork_doc},
    {"drain", (PyCFunction)sampler_drain, METH_NOARGS, sampler_drain_doc},
    {NULL, NULL, 0, NULL},
};

static int
sampler_init(Sampler *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"core", "interval_ns", "root_code", NULL};
    PyObject *core, *root_code = Py_None;
    unsigned long long interval;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!K|O", names, &CoreType, &core, &interval,
                                     &root_code)) {
        return -1;
    }
    if (self->core != NULL || interval == 0) {
        PyErr_SetString(PyExc_ValueError, "a Sampler is initialised once, with an interval above 0");
        return -1;
    }
    Py_INCREF(core);
    self->core = (Core *)core;
    if (root_code != Py_None) {
        Py_INCREF(root_code);
        self->root_code = root_code;
    }
    self->interval = interval;
    self->stack_room = 1024;
    self->sample_room = 256;
    self->stacks = PyMem_RawCalloc(self->stack_room, sizeof(StackEntry));
    self->samples = PyMem_RawCalloc(self->sample_room, sizeof(SampleEntry));
    self->lines = PyMem_RawCalloc(MOST_LINES, sizeof(LineEntry));
    self->new_stacks = PyList_New(0);
    if (!self->stacks || !self->samples || !self->lines || !self->new_stacks) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void
sampler_dealloc(Sampler *self)
{
    for (uint32_t i = 0; self->stacks != NULL && i < self->stack_room; i++) {
        Py_XDECREF(self->stacks[i].code);
    }
    PyMem_RawFree(self->stacks);
    PyMem_RawFree(self->samples);
    PyMem_RawFree(self->lines);
    Py_XDECREF(self->new_stacks);
    Py_XDECREF(self->root_code);
    Py_XDECREF(self->core);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject SamplerType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Sampler",
    .tp_doc = "Samples the stacks of a process and the phase that each is in.",
    .tp_basicsize = sizeof(Sampler),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)sampler_init,
    .tp_methods = sampler_methods,
    .tp_dealloc = (destructor)sampler_dealloc,
};
