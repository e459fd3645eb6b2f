/* A thread that calls Python now and then, and that Python does not know of in between: it has a thread
 * state only during its calls. So `sys._current_frames()`, `faulthandler`, debuggers and everything else
 * that lists the threads of an interpreter does not see one that waits. */

#include "own_thread.h"

#include "hidden.h"

#if !defined(_WIN32)
#include <signal.h>
#endif

#define FOREVER_S 1e6 /* and everything above */
#define LEAST_STACK (4u << 20) /* Python runs on it; musl has 128 KiB, macOS 512 */
#define RETRY_S 0.1   /* when there was no memory for a thread state */

/* ---- threads of the system's ---- */

#if defined(_WIN32)

int
native_thread_start(NativeThread *thread, ThreadMain run, void *argument, const char *name)
{
    (void)name;
    *thread = (HANDLE)_beginthreadex(NULL, 0, run, argument, 0, NULL);
    return *thread != 0;
}

void
native_thread_join(NativeThread thread)
{
    WaitForSingleObject(thread, INFINITE);
    CloseHandle(thread);
}

void
native_thread_detach(NativeThread thread)
{
    CloseHandle(thread);
}

#else

int
native_thread_start(NativeThread *thread, ThreadMain run, void *argument, const char *name)
{
    /* The program's signals are for its own threads; those of a crash are raised by the thread itself. */
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
    sigset_t blocked, before;
    sigfillset(&blocked);
    for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++) {
        sigdelset(&blocked, crashes[i]);
    }
    pthread_attr_t attributes;
    size_t stack = 0;
    pthread_attr_init(&attributes);
    if (pthread_attr_getstacksize(&attributes, &stack) == 0 && stack < LEAST_STACK) {
        pthread_attr_setstacksize(&attributes, LEAST_STACK);
    }
    pthread_sigmask(SIG_SETMASK, &blocked, &before);
    int failed = pthread_create(thread, &attributes, run, argument);
#if defined(__linux__)
    if (!failed) {
        pthread_setname_np(*thread, name); /* before anybody counts threads by name */
    }
#else
    (void)name;
#endif
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return !failed;
}

void
native_thread_join(NativeThread thread)
{
    pthread_join(thread, NULL);
}

void
native_thread_detach(NativeThread thread)
{
    pthread_detach(thread);
}

#endif

/* ---- states, and forks ---- */

/* Before 3.12, a forked child frees the states of other threads before it renews the lock of their list.
 * A thread that was making a state holds that lock, without the GIL: the child would wait for it for
 * ever. So a fork waits until no thread of these makes one, and none begins to until it is over. */
#if PY_VERSION_HEX < 0x030C0000 && !defined(_WIN32)

#include <stdatomic.h>

#define MOST_PAUSES 20000 /* a fork that Python did not see may have left the count as it was */

static atomic_int forking, making;

static void
pause_briefly(void)
{
    nanosleep(&(struct timespec){0, 20000}, NULL);
}

static PyThreadState *
state_new(PyInterpreterState *interpreter)
{
    atomic_fetch_add(&making, 1);
    while (atomic_load(&forking) > 0) {
        atomic_fetch_sub(&making, 1);
        pause_briefly();
        atomic_fetch_add(&making, 1);
    }
    PyThreadState *state = PyThreadState_New(interpreter);
    atomic_fetch_sub(&making, 1);
    return state;
}

static PyObject *
before_fork(PyObject *unused, PyObject *unused_too)
{
    (void)unused, (void)unused_too;
    atomic_fetch_add(&forking, 1);
    for (int i = 0; i < MOST_PAUSES && atomic_load(&making) > 0; i++) {
        Py_BEGIN_ALLOW_THREADS /* tracemalloc takes it to count a state's memory */
        pause_briefly();
        Py_END_ALLOW_THREADS
    }
    Py_RETURN_NONE;
}

static PyObject *
after_in_parent(PyObject *unused, PyObject *unused_too)
{
    (void)unused, (void)unused_too;
    if (atomic_load(&forking) > 0) { /* the first thread may have started during a fork */
        atomic_fetch_sub(&forking, 1);
    }
    Py_RETURN_NONE;
}

static PyObject *
after_in_child(PyObject *unused, PyObject *unused_too)
{
    (void)unused, (void)unused_too;
    atomic_store(&forking, 0); /* other threads may have forked as well */
    atomic_store(&making, 0);
    Py_RETURN_NONE;
}

static PyMethodDef at_forks[] = {
    {"before", before_fork, METH_NOARGS, NULL},
    {"after_in_parent", after_in_parent, METH_NOARGS, NULL},
    {"after_in_child", after_in_child, METH_NOARGS, NULL},
};

/* Once, as the first thread starts. 0 with an exception. */
static int
watch_forks(void)
{
    static int watched;
    if (watched) {
        return 1;
    }
    PyObject *os = PyImport_ImportModule("os");
    PyObject *function = os != NULL ? PyObject_GetAttrString(os, "register_at_fork") : NULL;
    PyObject *calls = function != NULL ? PyDict_New() : NULL, *none = PyTuple_New(0);
    for (size_t i = 0; i < sizeof(at_forks) / sizeof(at_forks[0]); i++) {
        PyObject *call = calls != NULL ? PyCFunction_New(&at_forks[i], NULL) : NULL;
        if (call == NULL || PyDict_SetItemString(calls, at_forks[i].ml_name, call) < 0) {
            Py_CLEAR(calls);
        }
        Py_XDECREF(call);
    }
    PyObject *done = calls != NULL && none != NULL ? PyObject_Call(function, none, calls) : NULL;
    watched = done != NULL;
    Py_XDECREF(done);
    Py_XDECREF(none);
    Py_XDECREF(calls);
    Py_XDECREF(function);
    Py_XDECREF(os);
    return watched;
}

#else

static PyThreadState *
state_new(PyInterpreterState *interpreter)
{
    return PyThreadState_New(interpreter);
}

static int
watch_forks(void)
{
    return 1;
}

#endif

/* ---- one that calls Python ---- */

struct OwnThread {
    PyObject_HEAD
    PyObject *step;
    double pause_s;            /* before its next call */
    PyThread_type_lock wake;   /* free: somebody has woken it */
    PyThread_type_lock alive;  /* taken while the thread runs */
    volatile int woken;
};

void
own_thread_wake(OwnThread *self)
{
    if (!self->woken) {
        self->woken = 1;
        PyThread_release_lock(self->wake);
    }
}

static void
wait_for_step(OwnThread *self)
{
    double pause = self->pause_s > 0 ? self->pause_s : 0;
    PyThread_acquire_lock_timed(self->wake, pause < FOREVER_S ? (PY_TIMEOUT_T)(pause * 1e6) : -1, 0);
}

static int
interpreter_ends(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return !Py_IsInitialized() || Py_IsFinalizing();
#else
    return !Py_IsInitialized() || _Py_IsFinalizing();
#endif
}

/* Whether there is another step. */
static int
call_step(OwnThread *self)
{
    self->woken = 0;
    PyObject *pause = hidden_call_none(self->step);
    if (pause != NULL && pause != Py_None) {
        self->pause_s = PyFloat_AsDouble(pause);
    }
    int goes_on = pause != NULL && pause != Py_None && !PyErr_Occurred();
    PyErr_Clear(); /* there is no caller to raise to */
    Py_XDECREF(pause);
    return goes_on;
}

/* Not PyGILState_Ensure, which ends the process where there is no memory. */
static int
step_with_state(OwnThread *self)
{
    PyInterpreterState *interpreter = PyInterpreterState_Main(); /* NULL: it has just ended */
    PyThreadState *state = interpreter != NULL ? state_new(interpreter) : NULL;
    if (state == NULL) {
        self->pause_s = RETRY_S;
        return 1;
    }
    PyEval_AcquireThread(state);
    int goes_on = call_step(self);
    if (!goes_on) {
        Py_CLEAR(self->step); /* it may refer to this thread */
        PyThread_release_lock(self->alive);
        Py_DECREF(self); /* the thread's */
    }
    PyThreadState_Clear(state);
    PyThreadState_DeleteCurrent();
    return goes_on;
}

THREAD_MAIN(own_thread_main)(void *argument)
{
    OwnThread *self = argument;
    do {
        wait_for_step(self);
    } while (!interpreter_ends() && step_with_state(self));
    return 0;
}

PyDoc_STRVAR(start_doc,
"start(first_s)\n--\n\nCall `step` after this many seconds, and again after as many as it returns.");

static PyObject *
own_thread_start(OwnThread *self, PyObject *first)
{
    NativeThread thread;
    double first_s = PyFloat_AsDouble(first);
    if (PyErr_Occurred() || !watch_forks()) {
        return NULL;
    }
    if (self->step == NULL || !PyThread_acquire_lock(self->alive, 0)) {
        PyErr_SetString(PyExc_RuntimeError, "a thread is started once");
        return NULL;
    }
    self->pause_s = first_s;
    Py_INCREF(self);
    if (!native_thread_start(&thread, own_thread_main, self, "hotloop-thread")) {
        PyThread_release_lock(self->alive);
        Py_DECREF(self);
        PyErr_SetString(PyExc_RuntimeError, "can't start new thread");
        return NULL;
    }
    native_thread_detach(thread);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(wake_doc, "wake()\n--\n\nLet it call `step` now, or again if it is in it.");

static PyObject *
wake(OwnThread *self, PyObject *unused)
{
    (void)unused;
    own_thread_wake(self);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(join_doc,
"join(timeout_s) -> bool\n--\n\n"
"Wait for its end; whether that came before the timeout. Handlers of signals run meanwhile.");

static PyObject *
join(OwnThread *self, PyObject *timeout)
{
    double seconds = PyFloat_AsDouble(timeout);
    PyLockStatus status;
    if (PyErr_Occurred()) {
        return NULL;
    }
    uint64_t end = platform_clock_ns() + (uint64_t)(seconds > 0 ? seconds * 1e9 : 0);
    do {
        uint64_t now = platform_clock_ns();
        PY_TIMEOUT_T left_us = now < end ? (PY_TIMEOUT_T)((end - now) / 1000) : 0;
        Py_BEGIN_ALLOW_THREADS
        status = PyThread_acquire_lock_timed(self->alive, left_us, 1);
        Py_END_ALLOW_THREADS
        if (status == PY_LOCK_INTR && PyErr_CheckSignals() < 0) {
            return NULL;
        }
    } while (status == PY_LOCK_INTR);
    if (status != PY_LOCK_ACQUIRED) {
        Py_RETURN_FALSE;
    }
    PyThread_release_lock(self->alive);
    Py_RETURN_TRUE;
}

static int
own_thread_init(OwnThread *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"step", NULL};
    PyObject *step;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O", names, &step)) {
        return -1;
    }
    if (self->step != NULL) {
        PyErr_SetString(PyExc_ValueError, "an OwnThread is initialized once");
        return -1;
    }
    self->step = Py_NewRef(step);
    self->wake = PyThread_allocate_lock();
    self->alive = PyThread_allocate_lock();
    if (self->wake == NULL || self->alive == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    PyThread_acquire_lock(self->wake, 0);
    return 0;
}

static void
own_thread_dealloc(OwnThread *self)
{
    /* The thread has ended, or was never started. */
    if (self->wake != NULL) {
        PyThread_free_lock(self->wake);
    }
    if (self->alive != NULL) {
        PyThread_free_lock(self->alive);
    }
    Py_XDECREF(self->step);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef own_thread_methods[] = {
    {"start", (PyCFunction)own_thread_start, METH_O, start_doc},
    {"wake", (PyCFunction)wake, METH_NOARGS, wake_doc},
    {"join", (PyCFunction)join, METH_O, join_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject OwnThreadType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.OwnThread",
    .tp_doc = "A thread that calls a function now and then, unknown to Python in between.",
    .tp_basicsize = sizeof(OwnThread),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)own_thread_init,
    .tp_methods = own_thread_methods,
    .tp_dealloc = (destructor)own_thread_dealloc,
};
