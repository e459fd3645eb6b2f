/* Transfers: counts what goes from one device to another, and keeps the line of the program that asked
 * for it. `hotloop.hooks.transfers` says what for, and is the same in Python. A program may read a
 * tensor a thousand times a step: what is done here must take far less than the read. */

#include "transfers.h"

#define ROOM 1024 /* of the table; a power of two */

typedef struct {
    PyObject *what; /* strong, as `code`; NULL: free */
    PyObject *code;
    int at; /* the instruction, which says the line later: to find out the line itself takes long */
    long long moved;
    long long bytes;
    long long waits;
} Line;

/* Whether code is the program's own, by its address; strong, so that it is not another's later. */
typedef struct {
    PyObject *code;
    int own;
} Known;

struct Transfers {
    PyObject_HEAD
    Core *core;
    Region *region;
    PyObject *is_own; /* file -> whether it is the program's own */
    PyObject *first;  /* called once, when the first tensor was seen on another device */
    Counter *transfers;
    Counter *bytes;
    Counter *syncs;
    char only_cpu;
    int line_count;
    Line lines[ROOM];
    Known known[ROOM];
};

static unsigned
slot_of(PyObject *one, PyObject *other, int at)
{
    uintptr_t mixed = ((uintptr_t)one >> 4) * 31u + ((uintptr_t)other >> 4) * 17u + (uintptr_t)at;
    return (unsigned)(mixed ^ (mixed >> 13)) & (ROOM - 1);
}

/* 1 or 0; -1 with an exception. What was known of other code in the same place is forgotten. */
static int
is_own(Transfers *self, PyObject *code)
{
    Known *known = &self->known[slot_of(code, NULL, 0)];
    if (known->code == code) {
        return known->own;
    }
    PyObject *answer = PyObject_CallOneArg(self->is_own, ((PyCodeObject *)code)->co_filename);
    int own = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    if (own >= 0) {
        PyObject *before = known->code;
        Py_INCREF(code);
        *known = (Known){code, own};
        Py_XDECREF(before);
    }
    return own;
}

/* NULL where too many are told apart already. */
static Line *
find_line(Transfers *self, PyObject *what, PyObject *code, int at)
{
    for (unsigned slot = slot_of(what, code, at);; slot = (slot + 1) & (ROOM - 1)) {
        Line *line = &self->lines[slot];
        if (line->what == what && line->code == code && line->at == at) {
            return line;
        }
        if (line->what == NULL) {
            if (self->line_count >= MOST_LINES) {
                return NULL;
            }
            self->line_count++;
            Py_INCREF(what);
            Py_INCREF(code);
            *line = (Line){what, code, at, 0, 0, 0};
            return line;
        }
    }
}

/* The line of the program from which this was called; -1 with an exception. */
static int
keep_line(Transfers *self, PyObject *what, int moved, long long size, int waits)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    int own = 0;
    for (int depth = 0; frame != NULL && depth < DEEPEST; depth++) {
        PyObject *code = (PyObject *)PyFrame_GetCode(frame);
        own = is_own(self, code);
        Line *line = own > 0 ? find_line(self, what, code, instruction_of(frame)) : NULL;
        if (line != NULL) {
            line->moved += moved;
            line->bytes += size;
            line->waits += waits;
        }
        Py_DECREF(code);
        if (own) {
            break;
        }
        PyFrameObject *back = PyFrame_GetBack(frame);
        Py_DECREF(frame);
        frame = back;
    }
    Py_XDECREF(frame);
    return own < 0 ? -1 : 0;
}

int
transfers_seen(Transfers *self, PyObject *what, long long size, int waits)
{
    if (self->only_cpu) {
        self->only_cpu = 0;
        PyObject *answer = PyObject_CallNoArgs(self->first);
        Py_XDECREF(answer);
        if (answer == NULL) {
            return -1;
        }
    }
    if (counter_add(self->core, self->transfers, 1) < 0 ||
        counter_add(self->core, self->bytes, size) < 0 ||
        (waits && counter_add(self->core, self->syncs, 1) < 0)) {
        return -1;
    }
    return keep_line(self, what, 1, size, waits);
}

Region *
transfers_region(Transfers *self)
{
    return self->region;
}

PyDoc_STRVAR(transfers_seen_doc,
"seen(what, size, waits)\n--\n\nA tensor went to another device, or from one to Python.");

static PyObject *
transfers_method_seen(Transfers *self, PyObject *args)
{
    PyObject *what;
    long long size;
    int waits;
    if (!PyArg_ParseTuple(args, "ULp", &what, &size, &waits)) {
        return NULL;
    }
    Py_INCREF(what);
    PyUnicode_InternInPlace(&what); /* the same word is the same object from here on */
    int failed = transfers_seen(self, what, size, waits);
    Py_DECREF(what);
    if (failed < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(transfers_waited_doc,
"waited(what)\n--\n\nThe program waited for a device, and nothing was moved.");

static PyObject *
transfers_method_waited(Transfers *self, PyObject *what)
{
    if (!PyUnicode_CheckExact(what)) {
        PyErr_SetString(PyExc_TypeError, "waited(what): what is a string");
        return NULL;
    }
    Py_INCREF(what);
    PyUnicode_InternInPlace(&what);
    int failed = counter_add(self->core, self->syncs, 1);
    failed = failed < 0 ? failed : keep_line(self, what, 0, 0, 1);
    Py_DECREF(what);
    if (failed < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(transfers_lines_doc,
"lines()\n--\n\n[(what, code, instruction, transfers, bytes, waits)] of all that was seen.");

static PyObject *
transfers_method_lines(Transfers *self, PyObject *unused)
{
    (void)unused;
    PyObject *all = PyList_New(0);
    for (int i = 0; all != NULL && i < ROOM; i++) {
        Line *line = &self->lines[i];
        if (line->what == NULL) {
            continue;
        }
        PyObject *row = Py_BuildValue("(OOiLLL)", line->what, line->code, line->at, line->moved,
                                      line->bytes, line->waits);
        if (row == NULL || PyList_Append(all, row) < 0) {
            Py_CLEAR(all);
        }
        Py_XDECREF(row);
    }
    return all;
}

static PyObject *
transfers_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *region, *own, *first;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!O!OO", &CoreType, &core, &RegionType, &region, &own, &first)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Transfers takes no keywords");
        }
        return NULL;
    }
    if (((Region *)region)->core != (Core *)core) {
        PyErr_SetString(PyExc_TypeError, "a region of the core");
        return NULL;
    }
    Counter *transfers = core_counter((Core *)core, "transfers");
    Counter *bytes = core_counter((Core *)core, "transfer_bytes");
    Counter *syncs = core_counter((Core *)core, "syncs");
    if (transfers == NULL || bytes == NULL || syncs == NULL) {
        return NULL;
    }
    Transfers *self = (Transfers *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(core);
    Py_INCREF(region);
    Py_INCREF(own);
    Py_INCREF(first);
    self->core = (Core *)core;
    self->region = (Region *)region;
    self->is_own = own;
    self->first = first;
    self->transfers = transfers;
    self->bytes = bytes;
    self->syncs = syncs;
    self->only_cpu = 1;
    return (PyObject *)self;
}

/* Codes hold no objects of the program but constants: they need not be gone through. */
static int
transfers_traverse(Transfers *self, visitproc visit, void *arg)
{
    Py_VISIT(self->core);
    Py_VISIT(self->region);
    Py_VISIT(self->is_own);
    Py_VISIT(self->first);
    return 0;
}

static void
transfers_dealloc(Transfers *self)
{
    PyObject_GC_UnTrack(self);
    for (int i = 0; i < ROOM; i++) {
        Py_XDECREF(self->lines[i].what);
        Py_XDECREF(self->lines[i].code);
        Py_XDECREF(self->known[i].code);
    }
    Py_XDECREF(self->core);
    Py_XDECREF(self->region);
    Py_XDECREF(self->is_own);
    Py_XDECREF(self->first);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef transfers_methods[] = {
    {"seen", (PyCFunction)transfers_method_seen, METH_VARARGS, transfers_seen_doc},
    {"waited", (PyCFunction)transfers_method_waited, METH_O, transfers_waited_doc},
    {"lines", (PyCFunction)transfers_method_lines, METH_NOARGS, transfers_lines_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef transfers_members[] = {
    {"only_cpu", T_BOOL, offsetof(Transfers, only_cpu), 0,
     "Until a tensor was seen on another device, reading one from Python is the transfer."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject TransfersType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Transfers",
    .tp_doc = "Transfers(core, region, is_own, first): see hotloop.hooks.transfers.",
    .tp_basicsize = sizeof(Transfers),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = transfers_new,
    .tp_methods = transfers_methods,
    .tp_members = transfers_members,
    .tp_traverse = (traverseproc)transfers_traverse,
    .tp_dealloc = (destructor)transfers_dealloc,
};
