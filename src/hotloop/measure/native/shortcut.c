/* Shortcut: a method of tensors with a short way for the two usual cases. A tensor on the processor is
 * counted at most, because a region would take longer than it; one on another device is read or moved
 * in the phase `transfer`, and counted with the line that asked for it. Every other case goes to the
 * hook in Python (`hotloop.hooks.transfers`). */

#include "transfers.h"

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
    char reads;           /* it reads a tensor; other methods move it */
    Transfers *transfers; /* told of tensors on other devices, or NULL: then Python is */
    PyObject *what;       /* what this is called there; interned */
} Shortcut;

static PyObject *device_name, *nbytes_name, *is_cpu_name, *is_meta_name;

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

enum { OTHER, USUAL, ELSEWHERE };

/* Which case is at hand; errors are none, `other` will meet them again. -1 with what is no error but
 * only happened to arrive here. */
static int
case_of(Shortcut *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    int found = USUAL;
    if (self->usual != Py_None) {
        PyObject *answer = nargs > 0 ? PyObject_GetAttr(args[0], self->usual) : NULL;
        int elsewhere = answer == Py_False && self->transfers != NULL;
        found = answer == Py_True ? USUAL : elsewhere ? ELSEWHERE : OTHER;
        Py_XDECREF(answer);
    }
    if (found == USUAL && self->here != Py_None) {
        int usual = nargs > 1 && names == NULL && stays(self, args[1]) > 0;
        found = usual ? USUAL : OTHER;
    }
    if (PyErr_Occurred()) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
        return OTHER;
    }
    return found;
}

/* ---- a tensor on another device ---- */

static int
is_true(PyObject *object, PyObject *name)
{
    PyObject *answer = PyObject_GetAttr(object, name);
    int holds = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return holds;
}

/* Whether the call does nothing: a tensor without data is read, or one is there already. */
static int
is_nothing(Shortcut *self, PyObject *const *args, Py_ssize_t nargs, PyObject *device)
{
    if (self->reads) {
        return is_true(args[0], is_meta_name);
    }
    return nargs > 1 && Py_TYPE(args[1]) == Py_TYPE(device)
               ? PyObject_RichCompareBool(args[1], device, Py_EQ)
               : 0;
}

static int
does_not_block(PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "non_blocking") == 0) {
            return PyObject_IsTrue(args[nargs + i]);
        }
    }
    return 0;
}

/* -1 with an exception. */
static int
note(Shortcut *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names, PyObject *device,
     PyObject *result)
{
    int waits = 1;
    if (!self->reads) {
        PyObject *now = PyObject_GetAttr(result, device_name);
        int moved = now != NULL ? PyObject_RichCompareBool(now, device, Py_NE) : -1;
        Py_XDECREF(now);
        if (moved <= 0) {
            return moved;
        }
        /* A copy to the processor waits for what it copies. */
        waits = is_true(result, is_cpu_name);
        int free_to_go = waits > 0 ? does_not_block(args, nargs, names) : 0;
        if (waits < 0 || free_to_go < 0) {
            return -1;
        }
        waits = waits && !free_to_go;
    }
    PyObject *bytes = PyObject_GetAttr(args[0], nbytes_name);
    long long size = bytes != NULL ? PyLong_AsLongLong(bytes) : -1;
    Py_XDECREF(bytes);
    if (size == -1 && PyErr_Occurred()) {
        return -1;
    }
    return transfers_seen(self->transfers, self->what, size, waits);
}

static PyObject *
call_elsewhere(Shortcut *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    PyObject *device = PyObject_GetAttr(args[0], device_name);
    int nothing = device != NULL ? is_nothing(self, args, nargs, device) : -1;
    if (nothing) {
        PyObject *result = NULL;
        if (nothing > 0 || PyErr_ExceptionMatches(PyExc_Exception)) {
            PyErr_Clear();
            result = PyObject_Vectorcall(self->function, args, nargsf, names);
        }
        Py_XDECREF(device);
        return result;
    }
    Region *region = transfers_region(self->transfers);
    int timed = self->core->enabled;
    if (timed) {
        region_enter(region);
    }
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    if (result == NULL) {
        if (timed) {
            region_exit_with_error(region);
        }
    }
    else {
        if (timed) {
            region_exit(region);
        }
        if (note(self, args, nargs, names, device, result) < 0) {
            if (PyErr_ExceptionMatches(PyExc_Exception)) {
                core_note_failure(self->core, region->name);
            }
            else {
                Py_CLEAR(result); /* it only happened to arrive here */
            }
        }
    }
    Py_DECREF(device);
    return result;
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
    int found = case_of(self, args, PyVectorcall_NARGS(nargsf), names);
    if (found == OTHER) {
        result = PyObject_Vectorcall(self->other, args, nargsf, names);
    }
    else if (found == ELSEWHERE) {
        result = call_elsewhere(self, args, nargsf, names);
    }
    else if (found == USUAL && !(self->counts && self->counter != NULL &&
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
    PyObject *transfers = Py_None, *what = NULL;
    int reads = 0;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!OOOOO|OUp", &CoreType, &core, &function, &other, &usual, &counter,
                          &here, &transfers, &what, &reads)) {
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
    if (transfers != Py_None && (Py_TYPE(transfers) != &TransfersType || what == NULL)) {
        PyErr_SetString(PyExc_TypeError, "Transfers, and what this is called there");
        return NULL;
    }
    if (device_name == NULL) {
        nbytes_name = PyUnicode_InternFromString("nbytes");
        is_cpu_name = PyUnicode_InternFromString("is_cpu");
        is_meta_name = PyUnicode_InternFromString("is_meta");
        device_name = PyUnicode_InternFromString("device");
        if (nbytes_name == NULL || is_cpu_name == NULL || is_meta_name == NULL ||
            device_name == NULL) {
            Py_CLEAR(device_name);
            return NULL;
        }
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
    if (transfers != Py_None) {
        Py_INCREF(transfers);
        Py_INCREF(what);
        PyUnicode_InternInPlace(&what);
        self->transfers = (Transfers *)transfers;
        self->what = what;
        self->reads = (char)reads;
    }
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
    Py_VISIT(self->transfers);
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
    Py_XDECREF(self->transfers);
    Py_XDECREF(self->what);
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
    .tp_doc = "Shortcut(core, function, other, usual, counter, here, transfers, what, reads)",
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
