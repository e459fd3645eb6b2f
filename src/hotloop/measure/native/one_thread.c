/* A callable that only one thread reaches: since Python 3.12, cProfile sees the calls of all threads
 * as one stack, which assigns their times to each other's functions. */

#include "core.h"

#include <structmember.h>

typedef struct {
    PyObject_HEAD
    PyObject *callable;
    unsigned long thread;
    vectorcallfunc vectorcall;
} OneThread;

static PyObject *
one_thread_call(PyObject *self, PyObject *const *args, size_t count, PyObject *names)
{
    OneThread *filter = (OneThread *)self;
    if (PyThread_get_thread_ident() != filter->thread) {
        Py_RETURN_NONE;
    }
    return PyObject_Vectorcall(filter->callable, args, count, names);
}

static PyObject *
one_thread_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *callable;
    if (kwargs != NULL || !PyArg_ParseTuple(args, "O:OneThread", &callable)) {
        return NULL;
    }
    OneThread *self = (OneThread *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->callable = Py_NewRef(callable);
        self->thread = PyThread_get_thread_ident();
        self->vectorcall = one_thread_call;
    }
    return (PyObject *)self;
}

static int
one_thread_traverse(PyObject *self, visitproc visit, void *arg)
{
    Py_VISIT(((OneThread *)self)->callable);
    return 0;
}

static int
one_thread_clear(PyObject *self)
{
    Py_CLEAR(((OneThread *)self)->callable);
    return 0;
}

static void
one_thread_dealloc(PyObject *self)
{
    PyObject_GC_UnTrack(self);
    one_thread_clear(self);
    Py_TYPE(self)->tp_free(self);
}

PyTypeObject OneThreadType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.OneThread",
    .tp_doc = "OneThread(callable): calls it in the thread that made this, and does nothing in others.",
    .tp_basicsize = sizeof(OneThread),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_new = one_thread_new,
    .tp_dealloc = one_thread_dealloc,
    .tp_traverse = one_thread_traverse,
    .tp_clear = one_thread_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(OneThread, vectorcall),
};
