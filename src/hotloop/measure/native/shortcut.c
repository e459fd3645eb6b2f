/* Shortcut: a method of tensors with a short way for the usual case, a tensor on the processor: it is
 * counted at most, because a region would take longer than it. Every other case goes to the hook in
 * Python (`hotloop.hooks.transfers`). */

#include "core.h"
#include "structmember.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function;
    Core *core;
    PyObject *other;   /* the hook in Python, called with the same */
    PyObject *usual;   /* an attribute of the object that is True in the usual case, or None */
    Counter *counter;  /* counts the usual case, or NULL */
    PyObject *here;    /* the processor's device, where the first argument says where to go, or None */
    char counts;
} Shortcut;

/* Whether a tensor on the processor stays there: -1 with an exception. */
static int
stays(Shortcut *self, PyObject *target)
{
    if (Py_TYPE(target) != Py_TYPE(self->here)) {
        /* A dtype says nothing of a place; a name, a number or a tensor may. */
        return strcmp(Py_TYPE(target)->tp_name, "torch.dtype") == 0;
    }
    /* Asking a device for its type would write it into a stream. */
    return PyObject_RichCompareBool(target, self->here, Py_EQ);
}

/* Whether the usual case is at hand; errors are not, `other` will meet them again. -1 with what is no
 * error but only happened to arrive here. */
static int
is_usual(Shortcut *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    int usual = 1;
    if (self->usual != Py_None) {
        PyObject *answer = nargs > 0 ? PyObject_GetAttr(args[0], self->usual) : NULL;
        usual = answer == Py_True;
        Py_XDECREF(answer);
    }
    if (usual && self->here != Py_None) {
        usual = nargs > 1 && names == NULL && stays(self, args[1]) > 0;
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
        return 0;
    }
    return usual;
}

static PyObject *
shortcut_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Shortcut *self = (Shortcut *)callable;
    Thread *thread = core_thread(self->core);
    if (thread == NULL || thread->in_read) {
        /* torch's function modes call what they were told of again. */
        return PyObject_Vectorcall(self->function, args, nargsf, names);
    }
    thread->in_read = 1;
    PyObject *result = NULL;
    int usual = is_usual(self, args, PyVectorcall_NARGS(nargsf), names);
    if (usual == 0) {
        result = PyObject_Vectorcall(self->other, args, nargsf, names);
    }
    else if (usual > 0 && !(self->counts && self->counter != NULL &&
                            counter_add(self->core, self->counter, 1) < 0)) {
        result = PyObject_Vectorcall(self->function, args, nargsf, names);
    }
    thread = core_thread(self->core); /* the thread may have been forgotten meanwhile */
    if (thread != NULL) {
        thread->in_read = 0;
    }
    return result;
}

/* What is pickled or copied is the method. */
static PyObject *
shortcut_reduce(Shortcut *self, PyObject *unused)
{
    (void)unused;
    return PyObject_CallMethod(self->function, "__reduce__", NULL);
}

static PyMethodDef shortcut_methods[] = {
    {"__reduce__", (PyCFunction)shortcut_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Everything else about it is the function's. */
static PyObject *
shortcut_getattr(PyObject *self, PyObject *name)
{
    static const char *const own[] = {"__class__", "__reduce__", "__reduce_ex__", "__wrapped__", "counts"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0) {
            return PyObject_GenericGetAttr(self, name);
        }
    }
    return PyObject_GetAttr(((Shortcut *)self)->function, name);
}

static PyObject *
shortcut_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *function, *other, *usual, *counter, *here;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!OOOOO", &CoreType, &core, &function, &other, &usual, &counter,
                          &here)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Shortcut takes no keywords");
        }
        return NULL;
    }
    if ((counter != Py_None && !PyUnicode_CheckExact(counter)) ||
        (usual != Py_None && !PyUnicode_CheckExact(usual))) {
        PyErr_SetString(PyExc_TypeError, "names are strings");
        return NULL;
    }
    const char *name = counter != Py_None ? PyUnicode_AsUTF8(counter) : NULL;
    Counter *counted = name != NULL ? core_counter((Core *)core, name) : NULL;
    if (PyErr_Occurred()) {
        return NULL;
    }
    Shortcut *self = (Shortcut *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(core);
    Py_INCREF(function);
    Py_INCREF(other);
    Py_INCREF(usual);
    Py_INCREF(here);
    self->call = shortcut_call;
    self->core = (Core *)core;
    self->function = function;
    self->other = other;
    self->usual = usual;
    self->counter = counted;
    self->here = here;
    self->counts = counted != NULL;
    return (PyObject *)self;
}

static int
shortcut_traverse(Shortcut *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->core);
    Py_VISIT(self->other);
    Py_VISIT(self->here);
    return 0;
}

static void
shortcut_dealloc(Shortcut *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->core);
    Py_XDECREF(self->other);
    Py_XDECREF(self->usual);
    Py_XDECREF(self->here);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMemberDef shortcut_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(Shortcut, function), READONLY, NULL},
    {"counts", T_BOOL, offsetof(Shortcut, counts), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject ShortcutType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Shortcut",
    .tp_doc = "Shortcut(core, function, other, usual, counter, here)",
    .tp_basicsize = sizeof(Shortcut),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Shortcut, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind_method,
    .tp_getattro = shortcut_getattr,
    .tp_members = shortcut_members,
    .tp_methods = shortcut_methods,
    .tp_new = shortcut_new,
    .tp_traverse = (traverseproc)shortcut_traverse,
    .tp_dealloc = (destructor)shortcut_dealloc,
};
