/* Hides calls of hotloop's own Python code from the program's tracers and profilers, and from torch's
 * compiler, which inspects every Python frame below a compiled function. */

#include "hidden.h"

#include "platform.h"

/* How often this thread has begun to hide. */
static HOTLOOP_THREAD_LOCAL int hidden;

static void
stop_tracing(PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState_EnterTracing(state);
#else
    state->tracing++;
#endif
}

static void
continue_tracing(PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030B0000
    PyThreadState_LeaveTracing(state);
#else
    state->tracing--;
#endif
}

/* ---- torch's compiler ---- */

/* Threads that run compiled code now, and torch's `set_eval_frame` without its hook. */
static int compiled_runs;
static PyObject *set_eval_frame;

/* What this thread's compiler was set to while its own code is hidden from it. */
static HOTLOOP_THREAD_LOCAL PyObject *suspended;

void
hidden_from_compiler(int change, PyObject *set)
{
    compiled_runs += change;
    Py_XSETREF(set_eval_frame, Py_NewRef(set));
}

/* Sets it and returns what was set, keeping the current exception. */
static PyObject *
swap_compiler(PyObject *callback)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *before = PyObject_CallOneArg(set_eval_frame, callback);
    PyErr_Restore(type, value, traceback); /* and forget one of torch's */
    return before;
}

static HOTLOOP_COLD void
suspend_compiler(void)
{
    suspended = swap_compiler(Py_None);
    if (suspended == Py_None) {
        Py_CLEAR(suspended);
    }
}

static HOTLOOP_COLD void
resume_compiler(void)
{
    PyObject *callback = suspended;
    suspended = NULL;
    Py_XDECREF(swap_compiler(callback));
    Py_DECREF(callback);
}

/* ---- from where hotloop's code begins to where it ends ---- */

static void
hide(PyThreadState *state)
{
    stop_tracing(state);
    if (hidden++ == 0 && RARELY(compiled_runs > 0)) {
        suspend_compiler();
    }
}

static void
show(PyThreadState *state)
{
    if (--hidden == 0 && RARELY(suspended != NULL)) {
        resume_compiler();
    }
    continue_tracing(state);
}

PyThreadState *
hidden_begin(void)
{
    PyThreadState *state = PyThreadState_Get();
    hide(state);
    return state;
}

void
hidden_end(PyThreadState *state)
{
    show(state);
}

int
hidden_pause(void)
{
    PyThreadState *state = PyThreadState_Get();
    int paused = 0;
    /* A greenlet may have begun it, and has a count of its own in its state. */
    while (hidden > 0 && state->tracing > 0) {
        paused++;
        show(state);
    }
    return paused;
}

void
hidden_resume(int paused)
{
    PyThreadState *state = PyThreadState_Get();
    for (; paused > 0; paused--) {
        hide(state);
    }
}

PyObject *
hidden_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyThreadState *state = hidden_begin();
    PyObject *result = PyObject_Vectorcall(callable, args, nargsf, names);
    hidden_end(state);
    return result;
}

PyObject *
hidden_call_none(PyObject *callable)
{
    return hidden_call(callable, NULL, 0, NULL);
}

PyObject *
hidden_call_one(PyObject *callable, PyObject *argument)
{
    return hidden_call(callable, &argument, 1, NULL);
}
