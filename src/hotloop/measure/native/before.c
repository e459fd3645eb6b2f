/* A callable that calls another one first, with the same arguments. Neither leaves a frame of
 * hotloop's around the program's function, which a warning, a logger or a traceback would show. */

#include "core.h"
#include "references.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *first;
    PyObject *callable;
    vectorcallfunc vectorcall;
} Before;

static PyObject *
before_call(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *callable = Py_NewRef(((Before *)self)->callable);
    PyObject *first = Py_NewRef(((Before *)self)->first);
    /* The place before the arguments is the caller's to lend, and only to one of the two. */
    PyObject *done = hidden_call(first, args, PyVectorcall_NARGS(nargsf), names);
    PyObject *result = NULL;
    if (done != NULL) {
        result = PyObject_Vectorcall(callable, args, nargsf, names);
    }
    Py_XDECREF(done);
    Py_DECREF(first);
    Py_DECREF(callable);
    return result;
}

static PyObject *
before_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *first, *callable;
    if (!PARSE(args, kwargs, "OO:Before", &first, &callable)) {
        return NULL;
    }
    Before *self = (Before *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->first = Py_NewRef(first);
        self->callable = Py_NewRef(callable);
        self->vectorcall = before_call;
    }
    return (PyObject *)self;
}

NOTHING_ELSE_ENDS(before)
REFERENCES(before, offsetof(Before, first), offsetof(Before, callable))

PyTypeObject BeforeType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Before",
    .tp_doc = "Before(first, callable): calls both with its arguments, returns what the second does.",
    .tp_basicsize = sizeof(Before),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = before_new,
    .tp_traverse = before_traverse,
    .tp_dealloc = before_dealloc,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Before, vectorcall),
};
