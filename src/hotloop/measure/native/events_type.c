/* The Python type `EventOrder`. */

#include "events.h"
#include "references.h"
#include "structmember.h"

static int
event_of(PyObject *argument)
{
    long event = PyLong_AsLong(argument);
    if ((event < 0 || event >= EVENTS) && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_ValueError, "no such event");
    }
    return PyErr_Occurred() ? -1 : (int)event;
}

PyDoc_STRVAR(happened_doc,
"happened(event)\n--\n\nSomething has ended; what follows is a gap until the next event.");

static PyObject *
method_happened(EventOrder *self, PyObject *argument)
{
    int event = event_of(argument);
    if (event < 0) {
        return NULL;
    }
    if (event == OPTIMIZER && self->core->resting) {
        events_rested(self, event, 0); /* gradient steps are counted at rest: so are updates */
    }
    else {
        events_happened(self, event);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(stepped_doc,
"stepped(envs)\n--\n\nThat many environments were stepped once, together.");

static PyObject *
method_stepped(EventOrder *self, PyObject *argument)
{
    long long envs = PyLong_AsLongLong(argument);
    if (envs == -1 && PyErr_Occurred()) {
        return NULL;
    }
    events_stepped(self, envs);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(prepared_doc,
"prepared(*_, **__)\n--\n\nGradients were set to zero or clipped: a note after such a function.");

static PyObject *
method_prepared(EventOrder *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    (void)args, (void)nargs, (void)names;
    /* Inside a library's update the backward pass says as much. */
    if (core_innermost(self->core) != self->learn) {
        events_happened(self, PREPARE);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(purpose_doc,
"purpose(network, gradients, batch_size)\n--\n\n"
"ACT, FORWARD or INFERENCE: what a network, by its `id`, is called for.");

static PyObject *
method_purpose(EventOrder *self, PyObject *args)
{
    PyObject *number;
    int gradients, sure;
    long long batch_size;
    if (!PyArg_ParseTuple(args, "O!pL", &PyLong_Type, &number, &gradients, &batch_size)) {
        return NULL;
    }
    void *network = PyLong_AsVoidPtr(number);
    if (network == NULL && PyErr_Occurred()) {
        return NULL;
    }
    return PyLong_FromLong(calls_purpose(self, network, gradients, batch_size, &sure));
}

PyDoc_STRVAR(collected_doc,
"collected()\n--\n\nEnvironment steps that the update in progress learns from.");

static PyObject *
method_collected(EventOrder *self, PyObject *unused)
{
    (void)unused;
    return PyLong_FromLongLong(events_collected(self));
}

PyDoc_STRVAR(learn_inline_doc,
"learn_inline(is_table)\n--\n\nThe program learns in a table of values between two steps.");

static PyObject *
method_learn_inline(EventOrder *self, PyObject *argument)
{
    events_learn_inline(self, argument == Py_True);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(forget_names_doc,
"forget_names()\n--\n\nForget the names of gaps: libraries name other phases than before.");

static PyObject *
method_forget_names(EventOrder *self, PyObject *unused)
{
    (void)unused;
    events_forget_gaps(self);
    Py_RETURN_NONE;
}

static int
find_phases(EventOrder *self)
{
    /* `purpose_in_library` relies on the first two. */
    static const char *const names[LIBRARY_PHASES] = {"collect",  "evaluate",  "learn",
                                                      "env.step", "env.reset", "buffer.add"};
    for (int i = 0; i < LIBRARY_PHASES; i++) {
        self->library[i] = core_region_named(self->core, names[i]);
    }
    self->learn = core_region_named(self->core, "learn");
    self->loss = core_region_named(self->core, "learn.loss");
    self->learn_events = core_counter(self->core, "learn_events");
    self->gap_ns = core_counter(self->core, "gap_ns");
    return !PyErr_Occurred();
}

static PyObject *
events_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *gap_regions, *identify;
    unsigned long long home;
    if (!PARSE(args, kwargs, "O!KOO", &CoreType, &core, &home, &gap_regions, &identify)) {
        return NULL;
    }
    EventOrder *self = (EventOrder *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->core = (Core *)Py_NewRef(core);
    self->gap_regions = Py_NewRef(gap_regions);
    self->identify = Py_NewRef(identify);
    self->thread = self->home = home;
    if (!find_phases(self)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
events_end(PyObject *self)
{
    PyMem_RawFree(((EventOrder *)self)->calls);
}

REFERENCES(events, offsetof(EventOrder, gap_regions), offsetof(EventOrder, identify),
           offsetof(EventOrder, core))

/* What the C code reads without asking (the core) stays until the end. */
static int
events_clear(PyObject *self)
{
    Py_CLEAR(((EventOrder *)self)->gap_regions);
    Py_CLEAR(((EventOrder *)self)->identify);
    return 0;
}

int
events_is_note(PyObject *note)
{
    return PyCFunction_CheckExact(note) && PyCFunction_GET_SELF(note) != NULL &&
           Py_IS_TYPE(PyCFunction_GET_SELF(note), &EventOrderType);
}

static PyMethodDef events_methods[] = {
    {"happened", (PyCFunction)method_happened, METH_O, happened_doc},
    {"stepped", (PyCFunction)method_stepped, METH_O, stepped_doc},
    {"prepared", (PyCFunction)(void (*)(void))method_prepared, METH_FASTCALL | METH_KEYWORDS,
     prepared_doc},
    {"purpose", (PyCFunction)method_purpose, METH_VARARGS, purpose_doc},
    {"collected", (PyCFunction)method_collected, METH_NOARGS, collected_doc},
    {"learn_inline", (PyCFunction)method_learn_inline, METH_O, learn_inline_doc},
    {"forget_names", (PyCFunction)method_forget_names, METH_NOARGS, forget_names_doc},
    {NULL, NULL, 0, NULL},
};

#define MEMBER(name, type, flags) {#name, type, offsetof(EventOrder, name), flags, NULL}

static PyMemberDef events_members[] = {
    MEMBER(thread, T_ULONGLONG, 0),
    MEMBER(envs, T_LONGLONG, READONLY),
    MEMBER(steps, T_LONGLONG, READONLY),
    MEMBER(steps_before, T_LONGLONG, READONLY),
    MEMBER(known_batch_size, T_LONGLONG, 0),
    MEMBER(drawn_rows, T_LONGLONG, 0),
    MEMBER(actors, T_LONGLONG, READONLY),
    MEMBER(last, T_INT, READONLY),
    MEMBER(active, T_BOOL, READONLY),
    MEMBER(off_policy, T_BOOL, 0),
    MEMBER(is_table, T_BOOL, READONLY),
    MEMBER(loss_is_named, T_BOOL, 0),
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject EventOrderType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.EventOrder",
    .tp_doc = "EventOrder(core, main_thread, gap_regions, identify): the events of one training loop.",
    .tp_basicsize = sizeof(EventOrder),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = events_new,
    .tp_methods = events_methods,
    .tp_members = events_members,
    .tp_traverse = events_traverse,
    .tp_clear = events_clear,
    .tp_dealloc = events_dealloc,
};
