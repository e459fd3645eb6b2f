/* Calls of hotloop's own Python code, which a tracer or profiler of the program's is not shown. */

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

PyThreadState *
hidden_begin(void)
{
    PyThreadState *state = PyThreadState_Get();
    stop_tracing(state);
    hidden++;
    return state;
}

void
hidden_end(PyThreadState *state)
{
    hidden--;
    continue_tracing(state);
}

int
hidden_pause(void)
{
    PyThreadState *state = PyThreadState_Get();
    int paused = 0;
    /* A greenlet may have begun it, and has a count of its own in its state. */
    while (hidden > 0 && state->tracing > 0) {
        hidden--;
        paused++;
        continue_tracing(state);
    }
    return paused;
}

void
hidden_resume(int paused)
{
    PyThreadState *state = PyThreadState_Get();
    for (; paused > 0; paused--) {
        stop_tracing(state);
        hidden++;
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

PyDoc_STRVAR(hide_thread_doc,
"hide_thread()\n--\n\n"
"The calling thread is hotloop's: no tracer or profiler is shown what it does. Since Python 3.12,\n"
"they hear every thread.");

static PyObject *
hide_thread(PyObject *module, PyObject *unused)
{
    (void)module;
    (void)unused;
    hidden_begin();
    Py_RETURN_NONE;
}

PyMethodDef hidden_methods[] = {
    {"hide_thread", hide_thread, METH_NOARGS, hide_thread_doc},
    {NULL, NULL, 0, NULL},
};
