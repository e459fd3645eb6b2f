/* Calls of hooked functions: through their hooks, and past them to the original function. */

#include "inplace.h"
#include "objects.h"
#include "own_frames.h"

PyObject *
original_function(Original *self)
{
    if (self->weak != NULL) {
        return object_watched(self->weak);
    }
    Py_INCREF(self->function);
    return self->function;
}

static PyObject *
call_original(Original *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    if (self->plain != NULL) {
        return PyObject_Vectorcall(self->plain, args, nargsf, names);
    }
    if (self->weak != NULL) {
        PyObject *object = original_function(self);
        PyObject *result = object != NULL ? self->was(object, args, nargsf, names) : NULL;
        Py_XDECREF(object);
        return result;
    }
    return self->was(self->function, args, nargsf, names);
}

/* How many hooks that are written in Python this thread is in. */
static HOTLOOP_THREAD_LOCAL int python_hooks;

int
python_hooks_recurse(void)
{
    return python_hooks > DEEP_RECURSION;
}

PyObject *
original_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Original *self = (Original *)callable;
    Aside aside;
    if (!self->under_python) {
        return call_original(self, args, nargsf, names);
    }
    if (RARELY(python_hooks_recurse()) && self->kind == FUNCTION) {
        return original_call_nested(callable, args, nargsf, names);
    }
    if (!own_frames_step_aside(&aside)) {
        return call_original(self, args, nargsf, names);
    }
    PyObject *result = call_original(self, args, nargsf, names);
    own_frames_return(&aside);
    return result;
}

/* A hook that is written in Python: neither its frame nor what it does is the program's. */
PyObject *
call_python_hook(PyObject *hook, PyObject *const *args, size_t nargsf, PyObject *names)
{
    python_hooks++;
    PyObject *result = hidden_call(hook, args, nargsf, names);
    python_hooks--;
    if (RARELY(result == NULL)) {
        own_frames_leave_traceback();
    }
    return result;
}

PyObject *
link_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Link *self = (Link *)callable;
    PyObject *run = self->run != NULL ? self->run : self->inner;
    Py_INCREF(run); /* it may be detached meanwhile */
    PyObject *result = Py_TYPE(run) == &TimedType ? timed_call(run, args, nargsf, names)
                       : PyFunction_Check(run)    ? call_python_hook(run, args, nargsf, names)
                                                  : PyObject_Vectorcall(run, args, nargsf, names);
    Py_DECREF(run);
    return result;
}

static PyObject *
original_run(Original *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return self->top != NULL ? link_call((PyObject *)self->top, args, nargsf, names)
                             : original_call((PyObject *)self, args, nargsf, names);
}

vectorcallfunc plain_function_call;

PyObject *
hooked_call(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Original *original = hooked_find(function);
    if (RARELY(original == NULL)) {
        return plain_function_call(function, args, nargsf, names);
    }
    return original_run(original, args, nargsf, names);
}

PyObject *
hooked_object_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Original *original = hooked_find(object);
    if (RARELY(original == NULL)) {
        vectorcallfunc call = PyVectorcall_Function(object);
        if (call == NULL || call == hooked_object_call) {
            PyErr_SetString(PyExc_SystemError, "a hook was copied to another object");
            return NULL;
        }
        return call(object, args, nargsf, names);
    }
    return original_run(original, args, nargsf, names);
}
