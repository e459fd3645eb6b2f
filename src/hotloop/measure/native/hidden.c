/* Hides calls of hotloop's own Python code from the program's tracers and profilers, and from torch's
 * compiler, which inspects every Python frame below a compiled function. Torch's function modes and
 * the program's own classes of tensors do not see what hotloop reads, either. */

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

/* ---- torch's function modes and classes of tensors ---- */

/* torch's context manager that neither a mode nor a class of tensors is told of; NULL without torch. */
static PyObject *quietly, *enter_name, *exit_name;

/* The one that this thread has entered. */
static HOTLOOP_THREAD_LOCAL PyObject *quiet;

static PyObject *
hide_from_torch(PyObject *module, PyObject *manager)
{
    (void)module;
    if (enter_name == NULL) {
        enter_name = PyUnicode_InternFromString("__enter__");
        exit_name = PyUnicode_InternFromString("__exit__");
    }
    if (enter_name == NULL || exit_name == NULL) {
        return NULL;
    }
    Py_XSETREF(quietly, manager != Py_None ? Py_NewRef(manager) : NULL);
    Py_RETURN_NONE;
}

static void
suspend_torch(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *manager = PyObject_CallObject(quietly, NULL);
    PyObject *entered = manager != NULL ? PyObject_CallMethodNoArgs(manager, enter_name) : NULL;
    if (entered != NULL) {
        quiet = Py_NewRef(manager);
    }
    Py_XDECREF(entered);
    Py_XDECREF(manager);
    PyErr_Restore(type, value, traceback);
}

static void
resume_torch(void)
{
    PyObject *type, *value, *traceback, *manager = quiet;
    PyErr_Fetch(&type, &value, &traceback);
    quiet = NULL;
    Py_XDECREF(PyObject_CallMethodObjArgs(manager, exit_name, Py_None, Py_None, Py_None, NULL));
    Py_DECREF(manager);
    PyErr_Restore(type, value, traceback);
}

PyMethodDef hidden_methods[] = {
    {"hide_from_torch", hide_from_torch, METH_O,
     "hide_from_torch(manager): hotloop's own code runs inside this context manager; None ends it."},
    {NULL, NULL, 0, NULL},
};

/* ---- from where hotloop's code begins to where it ends ---- */

static void
hide(PyThreadState *state)
{
    stop_tracing(state);
    if (hidden++ == 0) {
        if (RARELY(compiled_runs > 0)) {
            suspend_compiler();
        }
        if (quietly != NULL) {
            suspend_torch();
        }
    }
}

static void
show(PyThreadState *state)
{
    if (--hidden == 0) {
        if (quiet != NULL) {
            resume_torch();
        }
        if (RARELY(suspended != NULL)) {
            resume_compiler();
        }
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
