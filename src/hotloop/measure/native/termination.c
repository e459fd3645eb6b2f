/* A moment for the last window when SIGTERM ends the process.
 *
 * Worker processes usually end this way: their parent terminates them while they wait for the next
 * message. The handler is installed in C and only over the default action, so Python still reports
 * SIG_DFL and a program that sets its own handler replaces this one. It never returns to the
 * program: a thread that holds the GIL dies at once, as without it; one that waits without the GIL
 * stays here until the last window is written, for GRACE_MS at most. A process that already writes its
 * last window dies as soon as that is written, or of a second signal: a `Pool` terminates workers that
 * are just ending. A forked child that has not set up its own dies at once; exec resets the action to
 * the default. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "own_thread.h"

#if defined(__linux__)

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

enum { GRACE_MS = 250 };

/* One process has one action for SIGTERM. */
static struct {
    atomic_int owner; /* the process that set it up; 0 for none */
    atomic_int terminated;
    atomic_int writing; /* the last window is being written: `end_termination` raises the signal */
    atomic_int written;
    OwnThread *thread; /* of `owner`; calls `is_terminated` when it is woken */
} termination;

static void
on_sigterm(int number)
{
    int saved = errno;
    if (atomic_load(&termination.owner) == getpid() && atomic_load(&termination.writing)) {
        if (!atomic_exchange(&termination.terminated, 1)) {
            own_thread_wake(termination.thread); /* it ends an end that takes too long */
            errno = saved;
            return; /* the second one takes effect at once */
        }
    }
    if (atomic_load(&termination.owner) == getpid() && !PyGILState_Check() &&
        !atomic_exchange(&termination.terminated, 1)) {
        own_thread_wake(termination.thread);
        struct timespec pause = {0, 1000000};
        for (int ms = 0; ms < GRACE_MS && !atomic_load(&termination.written); ms++) {
            nanosleep(&pause, NULL);
        }
    }
    struct sigaction plain = {.sa_handler = SIG_DFL};
    sigaction(number, &plain, NULL);
    raise(number); /* pending until this handler returns, and then deadly */
    errno = saved;
}

PyDoc_STRVAR(begin_doc,
"begin_termination(thread) -> bool\n--\n\n"
"Install the handler, where the action is the default; it wakes this OwnThread.");

static PyObject *
begin_termination(PyObject *module, PyObject *thread)
{
    (void)module;
    struct sigaction now;
    if (!PyObject_TypeCheck(thread, &OwnThreadType)) {
        PyErr_SetString(PyExc_TypeError, "begin_termination needs an OwnThread");
        return NULL;
    }
    int ours = sigaction(SIGTERM, NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) &&
               (now.sa_handler == SIG_DFL || now.sa_handler == on_sigterm);
    if (!ours) {
        Py_RETURN_FALSE;
    }
    atomic_store(&termination.owner, 0);
    Py_INCREF(thread); /* the last one, too, is kept: its handler may still run */
    termination.thread = (OwnThread *)thread;
    atomic_store(&termination.terminated, 0);
    atomic_store(&termination.writing, 0);
    atomic_store(&termination.written, 0);
    atomic_store(&termination.owner, (int)getpid());
    struct sigaction action = {.sa_handler = on_sigterm, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    Py_RETURN_TRUE;
}

PyDoc_STRVAR(is_terminated_doc, "is_terminated() -> bool\n--\n\nWhether SIGTERM has arrived.");

static PyObject *
is_terminated(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    return PyBool_FromLong(atomic_load(&termination.terminated));
}

PyDoc_STRVAR(defer_doc,
"defer_termination()\n--\n\nThe last window is being written: SIGTERM waits for `end_termination`.");

static PyObject *
defer_termination(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (atomic_load(&termination.owner) == getpid() && !atomic_load(&termination.terminated)) {
        atomic_store(&termination.writing, 1);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(end_doc,
"end_termination()\n--\n\nThe last window is written: SIGTERM has its default action again.");

static PyObject *
end_termination(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    if (atomic_load(&termination.owner) != getpid()) {
        Py_RETURN_NONE;
    }
    struct sigaction now, plain = {.sa_handler = SIG_DFL};
    atomic_store(&termination.owner, 0);
    if (sigaction(SIGTERM, NULL, &now) == 0 && now.sa_handler == on_sigterm) {
        sigaction(SIGTERM, &plain, NULL);
    }
    if (atomic_load(&termination.writing) && atomic_load(&termination.terminated)) {
        kill(getpid(), SIGTERM); /* this thread may block signals */
    }
    atomic_store(&termination.written, 1);
    own_thread_wake(termination.thread);
    Py_RETURN_NONE;
}

#else

PyDoc_STRVAR(begin_doc, "begin_termination(thread) -> bool\n--\n\nNot on this system: False.");
PyDoc_STRVAR(is_terminated_doc, "is_terminated() -> bool\n--\n\nNot on this system: False.");
PyDoc_STRVAR(defer_doc, "defer_termination()\n--\n\nNot on this system.");
PyDoc_STRVAR(end_doc, "end_termination()\n--\n\nNot on this system.");

static PyObject *
begin_termination(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    Py_RETURN_FALSE;
}

#define is_terminated begin_termination
#define defer_termination begin_termination
#define end_termination begin_termination

#endif

PyMethodDef termination_methods[] = {
    {"begin_termination", begin_termination, METH_O, begin_doc},
    {"is_terminated", is_terminated, METH_NOARGS, is_terminated_doc},
    {"defer_termination", defer_termination, METH_NOARGS, defer_doc},
    {"end_termination", end_termination, METH_NOARGS, end_doc},
    {NULL, NULL, 0, NULL},
};
