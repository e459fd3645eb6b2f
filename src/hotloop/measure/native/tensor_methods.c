/* TensorMethod: a method of tensors that reads one from Python or moves it to another device.
 *
 * A tensor on the CPU that stays there is counted at most, because a region would take longer than
 * the call. Any other read or move is timed as `transfer` and counted with the source line that
 * asked for it. `hotloop.hooks.telemetry.transfers` puts these on. */

#include "references.h"
#include "timed.h"
#include "transfers.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Transfers *transfers;
    PyObject *function;
    PyObject *what;      /* the method's name in a report; interned */
    PyObject *cpu;       /* the CPU's device, or None */
    PyObject *goes_away; /* (args, kwargs) -> whether a CPU tensor leaves, or None: it never does */
    char reads;          /* it reads a tensor; other methods move it */
    char counts;         /* reads of CPU tensors are counted while there is no other device */
    char can_leave;      /* there may be tensors elsewhere */
} TensorMethod;

static PyObject *device_name, *nbytes_name, *is_cpu_name, *is_meta_name;

/* -1 with an exception. */
static int
is_true(PyObject *object, PyObject *name)
{
    PyObject *answer = PyObject_GetAttr(object, name);
    int holds = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return holds;
}

/* Whether a tensor on the CPU is to leave it; -1 with an exception. */
static int
leaves(TensorMethod *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    if (self->goes_away == Py_None) {
        return 0;
    }
    if (nargs > 1 && names == NULL && self->cpu != Py_None) {
        /* A dtype names no device. Asking a device for its type would format it. */
        if (strcmp(Py_TYPE(args[1])->tp_name, "torch.dtype") == 0) {
            return 0;
        }
        if (Py_TYPE(args[1]) == Py_TYPE(self->cpu)) {
            return PyObject_RichCompareBool(args[1], self->cpu, Py_NE);
        }
    }
    PyObject *rest = PyTuple_New(nargs - 1), *named = PyDict_New();
    for (Py_ssize_t i = 1; rest != NULL && i < nargs; i++) {
        PyTuple_SET_ITEM(rest, i - 1, Py_NewRef(args[i]));
    }
    for (Py_ssize_t i = 0; named != NULL && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[nargs + i]);
    }
    PyObject *answer = NULL;
    if (rest != NULL && named != NULL && !PyErr_Occurred()) {
        PyObject *both[] = {rest, named};
        answer = hidden_call(self->goes_away, both, 2, NULL);
    }
    int away = answer != NULL ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(rest);
    Py_XDECREF(named);
    Py_XDECREF(answer);
    return away;
}

/* Whether the call does nothing: it reads a tensor without data, or moves one where it is. */
static int
does_nothing(TensorMethod *self, PyObject *const *args, Py_ssize_t nargs, PyObject *device)
{
    if (self->reads) {
        return is_true(args[0], is_meta_name);
    }
    if (nargs > 1 && Py_TYPE(args[1]) == Py_TYPE(device)) {
        return PyObject_RichCompareBool(args[1], device, Py_EQ);
    }
    return 0;
}

/* The tensor's device if the call has to be timed, a new reference; NULL if not, maybe with an
 * exception. `on_cpu` says that it only stays on the CPU. */
static PyObject *
device_to_time(TensorMethod *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
               int *on_cpu)
{
    int is_cpu = self->can_leave ? (nargs > 0 ? is_true(args[0], is_cpu_name) : -1) : 1;
    *on_cpu = is_cpu > 0;
    int timed = is_cpu > 0 && self->can_leave ? leaves(self, args, nargs, names) : is_cpu == 0;
    PyObject *device = timed > 0 ? PyObject_GetAttr(args[0], device_name) : NULL;
    if (device != NULL && does_nothing(self, args, nargs, device) != 0) {
        Py_CLEAR(device);
    }
    return device;
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

/* Count a transfer. Exceptions are the caller's. */
static void
note(TensorMethod *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
     PyObject *device, PyObject *result)
{
    int waits = 1;
    if (!self->reads) {
        PyObject *now = PyObject_GetAttr(result, device_name);
        int moved = now != NULL ? PyObject_RichCompareBool(now, device, Py_NE) : -1;
        Py_XDECREF(now);
        if (moved <= 0) {
            return;
        }
        /* A copy to the CPU waits for what it copies. */
        waits = is_true(result, is_cpu_name) > 0 && !does_not_block(args, nargs, names);
    }
    PyObject *bytes = PyObject_GetAttr(args[0], nbytes_name);
    long long size = bytes != NULL ? PyLong_AsLongLong(bytes) : -1;
    Py_XDECREF(bytes);
    if (size == -1 && PyErr_ExceptionMatches(PyExc_Exception)) {
        PyErr_Clear(); /* sparse, or not initialized yet: it has no size */
        size = 0;
    }
    if (!PyErr_Occurred()) {
        transfers_seen(self->transfers, self->what, size, waits);
    }
}

static PyObject *
call_timed(TensorMethod *self, PyObject *const *args, size_t nargsf, PyObject *names,
           PyObject *device)
{
    Core *core = transfers_core(self->transfers);
    Region *region = transfers_region(self->transfers);
    int timed = core->enabled;
    if (timed) {
        region_enter(region);
    }
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    if (timed && result != NULL) {
        region_exit(region);
    }
    else if (timed) {
        region_exit_with_error(region);
    }
    if (result != NULL) {
        note(self, args, PyVectorcall_NARGS(nargsf), names, device, result);
        core_settle_error(core, region->name);
    }
    return result;
}

static PyObject *
tensor_method_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    TensorMethod *self = (TensorMethod *)callable;
    Core *core = transfers_core(self->transfers);
    Thread *thread = core_thread(core);
    if (thread == NULL || thread->in_read || core->resting) {
        /* torch's function modes call the method again. */
        return PyObject_Vectorcall(self->function, args, nargsf, names);
    }
    thread->in_read = 1;
    int on_cpu;
    PyObject *device = device_to_time(self, args, PyVectorcall_NARGS(nargsf), names, &on_cpu);
    core_settle_error(core, NULL); /* the call itself will raise what is wrong */
    PyObject *result;
    if (device != NULL) {
        result = call_timed(self, args, nargsf, names, device);
        Py_DECREF(device);
    }
    else {
        if (on_cpu && self->counts) {
            transfers_count_read(self->transfers);
        }
        result = PyObject_Vectorcall(self->function, args, nargsf, names);
    }
    thread = core_thread(core); /* the thread may have been forgotten meanwhile */
    if (thread != NULL) {
        thread->in_read = 0;
    }
    return result;
}

/* What is pickled or copied is the method. */
static PyObject *
tensor_method_reduce(TensorMethod *self, PyObject *unused)
{
    (void)unused;
    return PyObject_CallMethod(self->function, "__reduce__", NULL);
}

static PyMethodDef tensor_method_methods[] = {
    {"__reduce__", (PyCFunction)tensor_method_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

/* Every other attribute is the function's. */
static PyObject *
tensor_method_getattr(PyObject *self, PyObject *name)
{
    static const char *const own[] = {"__class__", "__reduce__", "__reduce_ex__", "__wrapped__"};
    for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++) {
        if (PyUnicode_CompareWithASCIIString(name, own[i]) == 0) {
            return PyObject_GenericGetAttr(self, name);
        }
    }
    return PyObject_GetAttr(((TensorMethod *)self)->function, name);
}

static int
intern_names(void)
{
    static const struct {
        PyObject **name;
        const char *text;
    } all[] = {{&nbytes_name, "nbytes"},
               {&is_cpu_name, "is_cpu"},
               {&is_meta_name, "is_meta"},
               {&device_name, "device"}};
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (*all[i].name == NULL && (*all[i].name = PyUnicode_InternFromString(all[i].text)) == NULL) {
            return 0;
        }
    }
    return 1;
}

static PyObject *
tensor_method_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *transfers, *function, *what, *cpu, *goes_away;
    int reads, counts, can_leave;
    if (!PARSE(args, kwargs, "O!OUpppOO", &TransfersType, &transfers, &function, &what, &reads,
               &counts, &can_leave, &cpu, &goes_away) ||
        !intern_names()) {
        return NULL;
    }
    TensorMethod *self = (TensorMethod *)type->tp_alloc(type, 0);
    if (self != NULL) {
        Py_INCREF(what);
        PyUnicode_InternInPlace(&what);
        self->call = tensor_method_call;
        self->transfers = (Transfers *)Py_NewRef(transfers);
        self->function = Py_NewRef(function);
        self->what = what;
        self->cpu = Py_NewRef(cpu);
        self->goes_away = Py_NewRef(goes_away);
        self->reads = (char)reads;
        self->counts = (char)counts;
        self->can_leave = (char)can_leave;
    }
    return (PyObject *)self;
}

NOTHING_ELSE_ENDS(tensor_method)
REFERENCES(tensor_method, offsetof(TensorMethod, function), offsetof(TensorMethod, what),
           offsetof(TensorMethod, cpu), offsetof(TensorMethod, goes_away),
           offsetof(TensorMethod, transfers))

static PyMemberDef tensor_method_members[] = {
    {"__wrapped__", T_OBJECT, offsetof(TensorMethod, function), READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject TensorMethodType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.TensorMethod",
    .tp_doc = "TensorMethod(transfers, function, what, reads, counts, can_leave, cpu, goes_away)",
    .tp_basicsize = sizeof(TensorMethod),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(TensorMethod, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind_method,
    .tp_getattro = tensor_method_getattr,
    .tp_members = tensor_method_members,
    .tp_methods = tensor_method_methods,
    .tp_new = tensor_method_new,
    .tp_traverse = tensor_method_traverse,
    .tp_dealloc = tensor_method_dealloc,
};
