/* The sampler: which Python lines run in which phase, about a hundred times a second.
 *
 * hotloop's own thread, which never holds or waits for the GIL, copies the frame chain of every Python
 * thread together with the instruction each frame is at and the phase it is in. The program's
 * threads neither stop nor notice. Copies are fault-safe (copying.c); a torn one is detected and repeated,
 * and it is dropped and counted if it never becomes consistent. */

#include "sampling.h"

#if defined(__linux__)
#include <sys/prctl.h>
#endif

#define OTHERS_EVERY 5     /* ticks between samples of a thread that is not main */
#define OWN_CPU_EVERY 16   /* ticks between reads of what sampling itself takes */
#define OTHERS_AT_ONCE 4   /* of them in one tick, however many there are */
#define WAKE_NS 500000     /* that a core may take to wake from idle: some 0.4 ms on a virtual machine */
#define AWAKE_EVERY 4      /* ticks between samples for which one is kept awake, where that matters */
#define MOST_PTHREAD 4096u /* bytes of a pthread_t's structure in which its system id is looked for */

/* ---- threads ---- */

static Sampled *
find_other(Sampler *self, uint64_t id, uintptr_t state, int system_id)
{
    for (uint32_t i = 0; i < self->other_count; i++) {
        if (self->others[i].id == id) {
            return &self->others[i];
        }
    }
    if (self->other_count == MOST_THREADS) {
        return NULL;
    }
    Sampled *other = &self->others[self->other_count++];
    self->threads_changed++;
    memset(other, 0, sizeof(*other));
    other->id = id;
    other->state = state;
    other->last_ns = platform_clock_ns();
    other->runs_python = 1; /* until a sample shows otherwise */
    system_thread_open(&other->system, system_id, 0);
    other->last_delay = thread_delay_ns(&other->system);
    return other;
}

static int
system_id_of(Sampler *self, const char *state)
{
    int id = NO_THREAD;
    if (self->layout.thread_native_id != NO_FIELD) {
        unsigned long native;
        memcpy(&native, state + self->layout.thread_native_id, sizeof(native));
        return (int)native;
    }
    if (self->pthread_id_at != NO_FIELD) {
        unsigned long handle;
        memcpy(&handle, state + self->layout.thread_ident, sizeof(handle));
        copy_memory(&self->copier, &id, (uintptr_t)handle + self->pthread_id_at, sizeof(id));
    }
    return id;
}

/* Brings the list of threads up to date; those that have ended leave it. */
static void
walk_threads(Sampler *self)
{
    uint64_t bytes[MOST_THREAD / 8];
    const char *state = (const char *)bytes;
    uintptr_t at = 0;
    self->walks++;
    if (!copy_memory(&self->copier, &at, self->interpreter + self->layout.interpreter_threads, sizeof(at))) {
        return;
    }
    for (int i = 0; at != 0 && i < MOST_THREADS; i++) {
        if (at % 8 != 0 || !copy_memory(&self->copier, bytes, at, self->layout.thread_size)) {
            break;
        }
        uint64_t id;
        memcpy(&id, state + self->layout.thread_id, sizeof(id));
        if (at != self->main.state) {
            Sampled *other = find_other(self, id, at, system_id_of(self, state));
            if (other != NULL) {
                other->alive = self->walks;
            }
        }
        memcpy(&at, state + self->layout.thread_next, sizeof(at));
    }
    for (uint32_t i = 0; i < self->other_count;) {
        if (self->others[i].alive != self->walks) {
            self->others[i] = self->others[--self->other_count];
            self->threads_changed++;
        }
        else {
            i++;
        }
    }
}

static void
sample_others(Sampler *self)
{
    uint64_t now = platform_clock_ns();
    uint32_t done = 0;
    if (self->tick % OTHERS_EVERY == 0) {
        walk_threads(self);
    }
    for (uint32_t i = 0; i < self->other_count && done < OTHERS_AT_ONCE; i++) {
        Sampled *other = &self->others[self->cursor++ % self->other_count];
        if (now - other->last_ns >= OTHERS_EVERY * self->interval * 9 / 10) {
            sample_thread(self, other, MAX_ROOTS - 1);
            done++;
        }
    }
}

/* ---- the thread ---- */

static void
note_resident(Sampler *self)
{
    Thread *thread = self->core->main_thread;
    uint64_t resident = resident_bytes(&self->statm);
    self->resident = resident;
    if (resident > self->resident_peak) {
        self->resident_peak = resident;
    }
    for (Node *node = thread != NULL ? thread->top : NULL; node != NULL; node = node->parent) {
        if (resident > node->resident_peak) {
            node->resident_peak = resident;
        }
    }
}

/* Between three and five quarters of the interval: a program with a period of its own is not always met
 * at the same point of it. */
static uint64_t
next_interval(Sampler *self)
{
    return self->interval * 3 / 4 + (self->interval / 2) * (next_random(self) % 1024) / 1024;
}

/* A sampler whose core must wake first is late, and finds a thread that runs for less than that waiting
 * each time. Where the CPU clock says so, some samples are taken by a core that has been kept awake. */
static void
wait_for_tick(Sampler *self, uint64_t due)
{
    if (self->tick % AWAKE_EVERY == 0 && ran_unseen(&self->main, self->interval)) {
        platform_sleep_until(due - WAKE_NS);
        while (platform_clock_ns() < due) {
        }
    }
    else {
        platform_sleep_until(due);
    }
}

static void
prepare_thread(void)
{
#if defined(__linux__)
    prctl(PR_SET_TIMERSLACK, 1000, 0, 0, 0); /* ns; of this thread alone */
#endif
}

THREAD_MAIN(sampler_main)(void *argument)
{
    Sampler *self = argument;
    uint64_t due = platform_clock_ns();
    prepare_thread();
    system_thread_open(&self->own, own_system_thread(), 0);
    while (self->running) {
        due += next_interval(self);
        uint64_t now = platform_clock_ns();
        if (due < now) {
            due = now; /* late (a suspended machine): do not catch up in a burst */
        }
        wait_for_tick(self, due);
        if (self->running) {
            self->tick++;
            /* First: the interrupt that has woken this thread may still hold up the thread to sample. */
            note_resident(self);
            if (self->copier.way != COPY_NONE) {
                sample_thread(self, &self->main, 0);
                sample_others(self);
            }
            if (self->tick % OWN_CPU_EVERY == 0) {
                self->cpu_ns = thread_cpu_ns(&self->own);
            }
        }
    }
    return 0;
}

/* ---- the Python side ---- */

/* glibc and musl keep the system's id inside what pthread_t points to, at a place of their own. */
static size_t
find_pthread_id(Sampler *self)
{
#if defined(__linux__)
    int own = own_system_thread();
    for (size_t at = 0; at < MOST_PTHREAD; at += sizeof(int)) {
        int id = 0;
        if (copy_memory(&self->copier, &id, (uintptr_t)pthread_self() + at, sizeof(id)) && id == own) {
            return at;
        }
    }
#else
    (void)self;
#endif
    return NO_FIELD;
}

static void
begin(Sampler *self)
{
    PyThreadState *state = PyThreadState_Get();
    copier_open(&self->copier);
    if (!layout_find(&self->layout)) {
        copier_close(&self->copier);
    }
    self->pthread_id_at = self->layout.thread_native_id == NO_FIELD ? find_pthread_id(self) : NO_FIELD;
    find_stable_memory(self->copier.stable);
    self->interpreter = (uintptr_t)PyInterpreterState_Get();
    memset(&self->main, 0, sizeof(self->main));
    self->main.id = PyThreadState_GetID(state);
    self->main.state = (uintptr_t)state;
    system_thread_open(&self->main.system, own_system_thread(), 1);
    self->main.last_ns = platform_clock_ns();
    self->main.last_delay = thread_delay_ns(&self->main.system);
    self->other_count = 0;
    self->helpers = (Helpers){0, 0, 0, 0};
    self->left_core = -1;
    self->random = (uint32_t)(self->main.last_ns | 1);
}

static Sampler *running_samplers;

static PyObject *sampler_stop(Sampler *self, PyObject *unused);

static PyObject *
stop_all(PyObject *unused, PyObject *unused_too)
{
    (void)unused, (void)unused_too;
    while (running_samplers != NULL) {
        PyObject *sampler = Py_NewRef(running_samplers);
        Py_XDECREF(sampler_stop((Sampler *)sampler, NULL));
        Py_DECREF(sampler);
    }
    Py_RETURN_NONE;
}

static PyMethodDef stop_all_method = {"stop_samplers", stop_all, METH_NOARGS, NULL};

/* The interpreter frees its frames as it ends: a program that ends without `stop` must not be sampled
 * then. Registered once and for good, because `atexit.unregister` compares all that the program has
 * registered. */
static int
stop_at_exit(void)
{
    static int registered;
    if (registered) {
        return 1;
    }
    PyObject *atexit = PyImport_ImportModule("atexit");
    PyObject *stop = atexit != NULL ? PyCFunction_New(&stop_all_method, NULL) : NULL;
    PyObject *done = stop != NULL ? PyObject_CallMethod(atexit, "register", "O", stop) : NULL;
    registered = done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(stop);
    Py_XDECREF(atexit);
    return registered;
}

static void
leave_running(Sampler *self)
{
    Sampler **each = &running_samplers;
    while (*each != NULL && *each != self) {
        each = &(*each)->next_running;
    }
    if (*each != NULL) {
        *each = self->next_running;
    }
    self->next_running = NULL;
    self->running = 0;
}

static void
close_files(Sampler *self)
{
    system_thread_close(&self->main.system);
    kept_file_close(&self->statm);
    copier_close(&self->copier);
}

PyDoc_STRVAR(sampler_start_doc, "start()\n--\n\nStart sampling; called in the main thread.");

static PyObject *
sampler_start(Sampler *self, PyObject *unused)
{
    (void)unused;
    if (self->running) {
        Py_RETURN_NONE;
    }
    if (!stop_at_exit()) {
        return NULL;
    }
    begin(self);
    self->running = 1;
#if !defined(_WIN32)
    self->pid = getpid();
#endif
    if (!native_thread_start(&self->thread, sampler_main, self, "hotloop-sampler")) {
        self->running = 0;
        close_files(self);
        PyErr_SetString(PyExc_RuntimeError, "the sampler's thread could not be started");
        return NULL;
    }
    Py_INCREF(self); /* the thread's */
    self->next_running = running_samplers;
    running_samplers = self;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(sampler_stop_doc, "stop()\n--\n\nStop; what was sampled can still be drained.");

static PyObject *
sampler_stop(Sampler *self, PyObject *unused)
{
    (void)unused;
    if (!self->running) {
        Py_RETURN_NONE;
    }
    leave_running(self);
#if !defined(_WIN32)
    if (self->pid != getpid()) {
        Py_RETURN_NONE; /* a fork that Python did not see: the thread is the parent's */
    }
#endif
    Py_BEGIN_ALLOW_THREADS
    native_thread_join(self->thread);
    Py_END_ALLOW_THREADS
    close_files(self);
    Py_DECREF(self); /* the caller has one still */
    Py_RETURN_NONE;
}

PyDoc_STRVAR(sampler_after_fork_doc,
"after_fork()\n--\n\nIn a forked child: the thread is gone, and so are the parent's samples.");

static PyObject *
sampler_after_fork(Sampler *self, PyObject *unused)
{
    (void)unused;
    if (self->running) {
        leave_running(self);
        close_files(self);
        Py_DECREF(self);
    }
    self->resident_peak = 0;
    self->taken = self->torn = self->dropped = self->cpu_ns = 0;
    /* The parent's thread may have been changing the tables: they are left behind, not freed. */
    LOCK_INIT(self);
    if (!samples_open(&self->samples) || !codes_open(&self->codes)) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(sampler_drain_doc,
"drain()\n--\n\n"
"(samples, stacks, cost_ns, resident, resident_peak) since the last drain. A sample is (node,\n"
"stack, mode, count, ns); a new stack (id, parent, file, function, first line, line). The cost is\n"
"what sampling took from the main thread: nothing.");

static PyObject *
sampler_drain(Sampler *self, PyObject *unused)
{
    (void)unused;
    Drained drained;
    PyObject *samples, *stacks;
    /* It is held for microseconds, and giving up the GIL costs the program more; but its holder may
     * have lost its core. */
    if (!TRY_LOCK(self)) {
        Py_BEGIN_ALLOW_THREADS
        LOCK(self);
        Py_END_ALLOW_THREADS
    }
    int fine = samples_drain(&self->samples, &drained);
    UNLOCK(self);
    if (!fine) {
        return PyErr_NoMemory();
    }
    if (!drained_lists(&drained, &samples, &stacks)) {
        return NULL;
    }
    uint64_t peak = self->resident_peak;
    self->resident_peak = self->resident;
    return Py_BuildValue("(NNiKK)", samples, stacks, 0, (unsigned long long)self->resident,
                         (unsigned long long)peak);
}

PyDoc_STRVAR(sampler_figures_doc,
"figures()\n--\n\n"
"Since the start: samples `taken`, copies that were `torn` and repeated, samples `dropped` because no\n"
"copy was whole, `cpu_ns` of the sampler's thread; and what `limits` the samples here, as a sentence.");

static PyObject *
sampler_figures(Sampler *self, PyObject *unused)
{
    (void)unused;
    const char *limits = "";
    if (self->running && self->copier.way == COPY_NONE) {
        limits = "Functions were not sampled: this system has no fault-safe copy of memory.";
    }
    return Py_BuildValue("{s:K,s:K,s:K,s:K,s:s}", "taken", (unsigned long long)self->taken, "torn",
                         (unsigned long long)self->torn, "dropped", (unsigned long long)self->dropped,
                         "cpu_ns", (unsigned long long)self->cpu_ns, "limits", limits);
}

PyDoc_STRVAR(sampler_thread_times_doc,
"thread_times()\n--\n\n"
"[(the system's id, ns on a core, ns waiting for one)] of the threads of this process; empty where\n"
"the system does not tell. The GIL is kept: each time that the recorder gives it up and takes it\n"
"again, the program waits for the recorder's thread to wake.");

static PyObject *
sampler_thread_times(PyObject *unused, PyObject *unused_too)
{
    (void)unused, (void)unused_too;
    ThreadTimes times[MOST_THREADS];
    int count = thread_times(times, MOST_THREADS);
    PyObject *found = PyList_New(count);
    for (int i = 0; found != NULL && i < count; i++) {
        PyObject *row = Py_BuildValue("(iKK)", times[i].id, (unsigned long long)times[i].on_core_ns,
                                      (unsigned long long)times[i].waiting_ns);
        if (row == NULL) {
            Py_CLEAR(found);
        }
        else {
            PyList_SET_ITEM(found, i, row);
        }
    }
    return found;
}

static PyMethodDef sampler_methods[] = {
    {"thread_times", sampler_thread_times, METH_NOARGS | METH_STATIC, sampler_thread_times_doc},
    {"start", (PyCFunction)sampler_start, METH_NOARGS, sampler_start_doc},
    {"stop", (PyCFunction)sampler_stop, METH_NOARGS, sampler_stop_doc},
    {"after_fork", (PyCFunction)sampler_after_fork, METH_NOARGS, sampler_after_fork_doc},
    {"drain", (PyCFunction)sampler_drain, METH_NOARGS, sampler_drain_doc},
    {"figures", (PyCFunction)sampler_figures, METH_NOARGS, sampler_figures_doc},
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
        PyErr_SetString(PyExc_ValueError, "a Sampler is initialized once, with an interval above 0");
        return -1;
    }
    Py_INCREF(core);
    self->core = (Core *)core;
    if (root_code != Py_None) {
        Py_INCREF(root_code);
        self->root_code = root_code;
    }
    self->interval = interval;
    LOCK_INIT(self);
    self->others = calloc(MOST_THREADS, sizeof(Sampled));
    if (self->others == NULL || !samples_open(&self->samples) || !codes_open(&self->codes)) {
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

static void
sampler_dealloc(Sampler *self)
{
    codes_close(&self->codes);
    samples_close(&self->samples);
    free(self->others);
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
