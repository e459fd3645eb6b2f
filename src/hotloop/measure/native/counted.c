/* Counted: a method whose calls are only counted, because a region would take longer than it. What
 * reads of tensors are made of (`hotloop.hooks.transfers`). */

#include "core.h"
#include "structmember.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function;
    Core *core;
    PyObject *name;   /* of the counter */
    PyObject *usual;  /* an attribute of the object that is True in the usual case, or None */
    PyObject *other;  /* called instead in every other case */
    char counts;
} Counted;

/* Whether the usual case is at hand. Exceptions are not: `other` will meet them again. */
static int
is_usual(Counted *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (self->usual == Py_None) {
        return 1;
    }
    PyObject *answer = nargs > 0 ? PyObject_GetAttr(args[0], self->usual) : NULL;
    if (answer == NULL) {
        PyErr_Clear();
        return 0;
    }
    Py_DECREF(answer);
    return answer == Py_True;
}

static PyObject *
counted_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Counted *self = (Counted *)callable;
    if (!is_usual(self, args, PyVectorcall_NARGS(nargsf))) {
        return PyObject_Vectorcall(self->other, args, nargsf, names);
    }
    if (self->counts && core_count(self->core, self->name, 1) < 0) {
        return NULL;
    }
    return PyObject_Vectorcall(self->function, args, nargsf, names);
}

static PyObject *
counted_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, object);
}

/* Everything else about it is the function's. */
static PyObject *
counted_getattr(PyObject *self, PyObject *name)
{
    PyObject *value = PyObject_GenericGetAttr(self, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return PyObject_GetAttr(((Counted *)self)->function, name);
    }
    return value;
}

static PyObject *
counted_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *function, *name, *usual, *other;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!OUOO", &CoreType, &core, &function, &name, &usual, &other)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Counted takes no keywords");
        }
        return NULL;
    }
    Counted *self = (Counted *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(core);
    Py_INCREF(function);
    Py_INCREF(name);
    Py_INCREF(usual);
    Py_INCREF(other);
    self->call = counted_call;
    self->core = (Core *)core;
    self->function = function;
    self->name = name;
    self->usual = usual;
    self->other = other;
    self->counts = 1;
    return (PyObject *)self;
}

static int
counted_traverse(Counted *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->core);
    Py_VISIT(self->usual);
    Py_VISIT(self->other);
    return 0;
}

static void
counted_dealloc(Counted *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->core);
    Py_XDECREF(self->name);
    Py_XDECREF(self->usual);
    Py_XDECREF(self->other);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef counted_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Counted, function), READONLY, NULL},
    {"counts", T_BOOL, offsetof(Counted, counts), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject CountedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Counted",
    .tp_doc = "Counted(core, function, counter, usual, other)",
    .tp_basicsize = sizeof(Counted),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Counted, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = counted_get,
    .tp_getattro = counted_getattr,
    .tp_members = counted_members,
    .tp_new = counted_new,
    .tp_traverse = (traverseproc)counted_traverse,
    .tp_dealloc = (destructor)counted_dealloc,
};
