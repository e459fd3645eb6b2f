/* A position in the program's code at which hotloop is called, invisible to the program: the
 * interpreter negates a constant of that code. There is no call to trace and no name to look up, and
 * the callback is hidden from the program's tracers and profilers. */

#include "core.h"
#include "references.h"

typedef struct {
    PyObject_HEAD
    PyObject *callback;
} Mark;

static PyObject *
mark_reached(PyObject *self)
{
    return hidden_call_none(((Mark *)self)->callback);
}

static PyObject *
mark_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *callback;
    if (!PARSE(args, kwargs, "O:Mark", &callback)) {
        return NULL;
    }
    Mark *self = (Mark *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->callback = Py_NewRef(callback);
    }
    return (PyObject *)self;
}

NOTHING_ELSE_ENDS(mark)
REFERENCES(mark, offsetof(Mark, callback))

static PyNumberMethods mark_number = {.nb_negative = mark_reached};

PyTypeObject MarkType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Mark",
    .tp_doc = "Mark(callback): calls it, unseen by tracers, when it is negated.",
    .tp_basicsize = sizeof(Mark),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_as_number = &mark_number,
    .tp_new = mark_new,
    .tp_traverse = mark_traverse,
    .tp_dealloc = mark_dealloc,
};
