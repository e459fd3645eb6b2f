/* Transfers: counts data moving between devices, with the source line that requested it. A program may
 * read a tensor a thousand times per step, so the code here must be much cheaper. */

#include "references.h"
#include "transfers.h"

/* Frames that are searched for one of the program's own. */
#define MOST_FRAMES 40
#define ROOM (2 * MOST_LINES) /* of the hash table; a power of two */

typedef struct {
    PyObject *what; /* strong, as `code`; NULL: free */
    PyObject *code;
    int instruction; /* which gives the line later: finding the line itself takes long */
    long long moved;
    long long bytes;
    long long waits;
} Line;

/* Whether code is the program's own; strong, so that its address is not reused. */
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
slot_of(PyObject *one, PyObject *other, int instruction)
{
    uintptr_t mixed = ((uintptr_t)one >> 4) * 31u + ((uintptr_t)other >> 4) * 17u + (uintptr_t)instruction;
    return (unsigned)(mixed ^ (mixed >> 13)) & (ROOM - 1);
}

/* 1 or 0; -1 with an exception. Other code in the same slot is forgotten. */
static int
is_own(Transfers *self, PyObject *code)
{
    Known *known = &self->known[slot_of(code, NULL, 0)];
    if (known->code == code) {
        return known->own;
    }
    PyObject *answer = hidden_call_one(self->is_own, ((PyCodeObject *)code)->co_filename);
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

/* NULL where there are too many already. */
static Line *
find_line(Transfers *self, PyObject *what, PyObject *code, int instruction)
{
    for (unsigned slot = slot_of(what, code, instruction);; slot = (slot + 1) & (ROOM - 1)) {
        Line *line = &self->lines[slot];
        if (line->what == what && line->code == code && line->instruction == instruction) {
            return line;
        }
        if (line->what == NULL) {
            if (self->line_count >= MOST_LINES) {
                return NULL;
            }
            self->line_count++;
            Py_INCREF(what);
            Py_INCREF(code);
            *line = (Line){what, code, instruction, 0, 0, 0};
            return line;
        }
    }
}

/* Count for the line of the program from which this was called. */
static void
keep_line(Transfers *self, PyObject *what, int moved, long long size, int waits)
{
    PyFrameObject *frame = PyEval_GetFrame();
    Py_XINCREF(frame);
    int own = 0;
    for (int depth = 0; frame != NULL && depth < MOST_FRAMES; depth++) {
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
    core_settle_error(self->core, self->region->name);
}

void
transfers_seen(Transfers *self, PyObject *what, long long size, int waits)
{
    if (self->only_cpu) {
        self->only_cpu = 0;
        Py_XDECREF(hidden_call_none(self->first));
        core_settle_error(self->core, self->region->name);
    }
    if (self->core->resting) {
        return;
    }
    counter_add(self->core, self->transfers, 1);
    counter_add(self->core, self->bytes, size);
    if (waits) {
        counter_add(self->core, self->syncs, 1);
    }
    keep_line(self, what, 1, size, waits);
}

void
transfers_count_read(Transfers *self)
{
    if (self->only_cpu && !self->core->resting) {
        counter_add(self->core, self->transfers, 1);
    }
}

Region *
transfers_region(Transfers *self)
{
    return self->region;
}

Core *
transfers_core(Transfers *self)
{
    return self->core;
}

PyDoc_STRVAR(seen_doc,
"seen(what, size, waits)\n--\n\nA tensor went to another device, or from one to Python.");

static PyObject *
method_seen(Transfers *self, PyObject *args)
{
    PyObject *what;
    long long size;
    int waits;
    if (!PyArg_ParseTuple(args, "ULp", &what, &size, &waits)) {
        return NULL;
    }
    Py_INCREF(what);
    PyUnicode_InternInPlace(&what); /* the same name is the same object from here on */
    transfers_seen(self, what, size, waits);
    Py_DECREF(what);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(waited_doc,
"waited(what)\n--\n\nThe program waited for a device, and nothing was moved.");

static PyObject *
method_waited(Transfers *self, PyObject *what)
{
    if (!PyUnicode_CheckExact(what)) {
        PyErr_SetString(PyExc_TypeError, "waited(what): what is a string");
        return NULL;
    }
    Py_INCREF(what);
    PyUnicode_InternInPlace(&what);
    counter_add(self->core, self->syncs, 1);
    keep_line(self, what, 0, 0, 1);
    Py_DECREF(what);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(lines_doc,
"lines()\n--\n\n[(what, code, instruction, transfers, bytes, waits)] of all that was seen.");

static PyObject *
method_lines(Transfers *self, PyObject *unused)
{
    (void)unused;
    PyObject *all = PyList_New(0);
    for (int i = 0; all != NULL && i < ROOM; i++) {
        Line *line = &self->lines[i];
        if (line->what == NULL) {
            continue;
        }
        PyObject *row = Py_BuildValue("(OOiLLL)", line->what, line->code, line->instruction,
                                      line->moved, line->bytes, line->waits);
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
    PyObject *core, *own, *first;
    if (!PARSE(args, kwargs, "O!OO", &CoreType, &core, &own, &first)) {
        return NULL;
    }
    Transfers *self = (Transfers *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->core = (Core *)Py_NewRef(core);
    self->is_own = Py_NewRef(own);
    self->first = Py_NewRef(first);
    self->region = core_region_named(self->core, "transfer");
    self->transfers = core_counter(self->core, "transfers");
    self->bytes = core_counter(self->core, "transfer_bytes");
    self->syncs = core_counter(self->core, "syncs");
    self->only_cpu = 1;
    if (PyErr_Occurred()) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
transfers_end(PyObject *object)
{
    Transfers *self = (Transfers *)object;
    for (int i = 0; i < ROOM; i++) {
        Py_XDECREF(self->lines[i].what);
        Py_XDECREF(self->lines[i].code);
        Py_XDECREF(self->known[i].code);
    }
}

/* Code holds no objects of the program but constants: it need not be visited. */
REFERENCES(transfers, offsetof(Transfers, is_own), offsetof(Transfers, first),
           offsetof(Transfers, core))

static PyMethodDef transfers_methods[] = {
    {"seen", (PyCFunction)method_seen, METH_VARARGS, seen_doc},
    {"waited", (PyCFunction)method_waited, METH_O, waited_doc},
    {"lines", (PyCFunction)method_lines, METH_NOARGS, lines_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef transfers_members[] = {
    {"only_cpu", T_BOOL, offsetof(Transfers, only_cpu), READONLY,
     "Until a tensor was seen on another device, reading one from Python is the transfer."},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject TransfersType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Transfers",
    .tp_doc = "Transfers(core, is_own, first): transfers between devices, and their source lines.",
    .tp_basicsize = sizeof(Transfers),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = transfers_new,
    .tp_methods = transfers_methods,
    .tp_members = transfers_members,
    .tp_traverse = transfers_traverse,
    .tp_dealloc = transfers_dealloc,
};
