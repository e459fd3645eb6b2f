/* Core: a tree of regions with its counters, and its interface for Python. */

#include "core_methods.h"
#include <structmember.h>

void
core_renew_serial(Core *core)
{
    static uint64_t serials = 0;
    core->serial = ++serials;
}

#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(Frame) == CACHE_LINE, "a frame is one line of a cache");
_Static_assert(offsetof(Node, gaps) == CACHE_LINE, "what every call needs of a node is one line");
#endif

/* `is_made_up` names come from the program, step by step: beyond MAX_REGIONS, those without a meaning
 * share one region. */
static Region *
core_region(Core *core, PyObject *name, int is_made_up)
{
    if (!PyUnicode_CheckExact(name)) {
        PyErr_Format(PyExc_TypeError, "a region's name is a string, not %R", name);
        return NULL;
    }
    PyObject *known = PyDict_GetItemWithError(core->regions, name);
    if (known != NULL || PyErr_Occurred()) {
        return (Region *)known;
    }
    long flags = 0;
    if (core->describe != NULL) {
        PyObject *answer = hidden_call_one(core->describe, name);
        if (answer == NULL) {
            return NULL;
        }
        flags = PyLong_AsLong(answer);
        Py_DECREF(answer);
        if (flags == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    if (is_made_up && (flags & ~REGION_BESIDE) == 0 &&
        PyDict_GET_SIZE(core->regions) >= MAX_REGIONS) {
        return core->overflow[0]->region;
    }
    Region *region = region_new(core, name, (uint32_t)flags);
    if (region == NULL) {
        return NULL;
    }
    /* Meanwhile another thread may have made a region of that name, which is in use: that one stays. */
    PyObject *kept = PyDict_SetDefault(core->regions, name, (PyObject *)region);
    Py_DECREF(region);
    return (Region *)kept;
}

Region *
core_region_named(Core *core, const char *name)
{
    PyObject *key = PyUnicode_InternFromString(name);
    Region *region = key != NULL ? core_region(core, key, 0) : NULL;
    Py_XDECREF(key);
    return region;
}

PyDoc_STRVAR(core_region_doc,
"region(name)\n--\n\nThe region of that name, enabled or not.");

static PyObject *
core_method_region(Core *self, PyObject *name)
{
    Region *region = core_region(self, name, 0);
    return Py_XNewRef(region);
}

PyDoc_STRVAR(core_profile_doc,
"profile(name, category=None, track_memory=False)\n--\n\n"
"A region to be used with `with`; while disabled, one that does nothing.");

static PyObject *
core_method_profile(Core *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    if (!self->enabled) {
        return Py_NewRef(self->off);
    }
    if (nargs == 1 && names == NULL) {
        Region *region = core_region(self, args[0], 1);
        return Py_XNewRef(region);
    }
    if (self->special == NULL) {
        PyErr_SetString(PyExc_TypeError, "profile() takes a name");
        return NULL;
    }
    return PyObject_Vectorcall(self->special, args, (size_t)nargs, names);
}

PyDoc_STRVAR(core_enable_doc, "enable()\n--\n\nBegin to count; regions that are open count from now.");

static PyObject *
core_method_enable(Core *self, PyObject *unused)
{
    (void)unused;
    if (!self->enabled) {
        if (core_thread(self) == NULL) {
            return PyErr_NoMemory();
        }
        core_skip_open(self, core_now(self));
        self->enabled = 1;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_disable_doc, "disable()\n--\n\nStop counting; regions that are open count up to now.");

static PyObject *
core_method_disable(Core *self, PyObject *unused)
{
    (void)unused;
    if (self->enabled) {
        stretches_stop(self);
        core_count_open(self, core_now(self));
        self->enabled = 0;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_is_open_doc,
"is_open(*names)\n--\n\nWhether this thread is inside any of those regions.");

static PyObject *
core_method_is_open(Core *self, PyObject *const *args, Py_ssize_t nargs)
{
    for (Py_ssize_t i = 0; i < nargs; i++) {
        PyObject *region = PyDict_GetItemWithError(self->regions, args[i]);
        if (region == NULL && PyErr_Occurred()) {
            return NULL;
        }
        if (region != NULL && core_is_open(self, (Region *)region)) {
            Py_RETURN_TRUE;
        }
    }
    Py_RETURN_FALSE;
}

PyDoc_STRVAR(core_innermost_doc,
"innermost()\n--\n\nThe name of the region that this thread is in, gaps excluded; None outside.");

static PyObject *
core_method_innermost(Core *self, PyObject *unused)
{
    (void)unused;
    Region *region = core_innermost(self);
    PyObject *name = region != NULL ? region->name : Py_None;
    return Py_NewRef(name);
}

PyDoc_STRVAR(core_main_node_doc,
"main_node()\n--\n\nThe node that the main thread is in, by its number; asked from any thread.");

static PyObject *
core_method_main_node(Core *self, PyObject *unused)
{
    (void)unused;
    Thread *thread = self->main_thread;
    return PyLong_FromUnsignedLong(thread != NULL ? thread->top->id : 0);
}

PyDoc_STRVAR(core_forget_loop_doc,
"forget_loop()\n--\n\n"
"The next entry of a phase of the training loop begins a new loop.");

static PyObject *
core_method_forget_loop(Core *self, PyObject *unused)
{
    (void)unused;
    self->loop_first = self->loop_last = 0;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_skip_doc,
"skip(ns)\n--\n\nTake `ns` out of what is open in this thread: hotloop's own work inside it.");

static PyObject *
core_method_skip(Core *self, PyObject *amount)
{
    unsigned long long ns = PyLong_AsUnsignedLongLong(amount);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Thread *thread = core_thread(self);
    if (thread != NULL) {
        thread_skip(thread, thread_stack(thread), ns);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_own_doc,
"own()\n--\n\n"
"Nanoseconds of hotloop's own work that were taken out of every region since the last call.");

static PyObject *
core_method_own(Core *self, PyObject *unused)
{
    (void)unused;
    uint64_t own = self->own_ns;
    self->own_ns = 0;
    return PyLong_FromUnsignedLongLong(own);
}

static PyObject *
core_method_reduce(Core *self, PyObject *unused)
{
    (void)unused;
    if (self->reduce == NULL) {
        PyErr_SetString(PyExc_TypeError, "only the global profiler's core can be pickled");
        return NULL;
    }
    return Py_NewRef(self->reduce);
}

static PyMethodDef core_methods[] = {
    {"__reduce__", (PyCFunction)core_method_reduce, METH_NOARGS, NULL},
    {"region", (PyCFunction)core_method_region, METH_O, core_region_doc},
    {"profile", (PyCFunction)(void (*)(void))core_method_profile, METH_FASTCALL | METH_KEYWORDS,
     core_profile_doc},
    {"count", (PyCFunction)(void (*)(void))core_method_count, METH_FASTCALL, core_count_doc},
    {"watch", (PyCFunction)core_method_watch, METH_VARARGS, core_watch_doc},
    {"enable", (PyCFunction)core_method_enable, METH_NOARGS, core_enable_doc},
    {"disable", (PyCFunction)core_method_disable, METH_NOARGS, core_disable_doc},
    {"is_open", (PyCFunction)(void (*)(void))core_method_is_open, METH_FASTCALL, core_is_open_doc},
    {"innermost", (PyCFunction)core_method_innermost, METH_NOARGS, core_innermost_doc},
    {"main_node", (PyCFunction)core_method_main_node, METH_NOARGS, core_main_node_doc},
    {"end_gap", (PyCFunction)core_method_end_gap, METH_NOARGS, core_end_gap_doc},
    {"claim_gap", (PyCFunction)core_method_claim_gap, METH_O, core_claim_gap_doc},
    {"snapshot", (PyCFunction)core_method_snapshot, METH_NOARGS, core_snapshot_doc},
    {"nodes", (PyCFunction)core_method_nodes, METH_VARARGS, core_nodes_doc},
    {"after_fork", (PyCFunction)core_method_after_fork, METH_NOARGS, core_after_fork_doc},
    {"leave_all", (PyCFunction)core_method_leave_all, METH_NOARGS, core_leave_all_doc},
    {"forget_loop", (PyCFunction)core_method_forget_loop, METH_NOARGS, core_forget_loop_doc},
    {"own", (PyCFunction)core_method_own, METH_NOARGS, core_own_doc},
    {"skip", (PyCFunction)core_method_skip, METH_O, core_skip_doc},
    {"attach", (PyCFunction)core_method_attach, METH_VARARGS | METH_STATIC, core_attach_doc},
    {"original", (PyCFunction)core_method_original, METH_O | METH_STATIC, core_original_doc},
    {"compiler", (PyCFunction)core_method_compiler, METH_VARARGS, core_compiler_doc},
    {"in_graph", (PyCFunction)core_method_in_graph, METH_O, core_in_graph_doc},
    {"stretches", (PyCFunction)core_method_stretches, METH_VARARGS, core_stretches_doc},
    {"trace", (PyCFunction)core_method_trace, METH_O, core_trace_doc},
    {"slices", (PyCFunction)core_method_slices, METH_NOARGS, core_slices_doc},
    {NULL, NULL, 0, NULL},
};

/* A flag of the core, as a bool; `closure` is its offset. */
static PyObject *
core_get_flag(PyObject *self, void *closure)
{
    return PyBool_FromLong(*(int *)((char *)self + (size_t)closure));
}

static PyGetSetDef core_getset[] = {
    {"enabled", core_get_flag, NULL, "Whether regions are counted.", (void *)offsetof(Core, enabled)},
    {"resting", core_get_flag, NULL, "Whether hooks rest between stretches.",
     (void *)offsetof(Core, resting)},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef core_members[] = {
    {"head_entries", T_ULONGLONG, offsetof(Core, head_entries), READONLY,
     "Iterations since stretches began."},
    {"failures", T_OBJECT_EX, offsetof(Core, failures), READONLY,
     "Hooks that failed, with their errors."},
    {"unmatched", T_ULONGLONG, offsetof(Core, unmatched), READONLY,
     "Exits of regions that were not open."},
    {"dropped", T_ULONGLONG, offsetof(Core, dropped), READONLY, "Counts that were not finite."},
    {"loop_first", T_ULONGLONG, offsetof(Core, loop_first), READONLY,
     "When the training loop began, or 0."},
    {NULL, 0, 0, 0, NULL},
};

static int
core_init_nodes(Core *self)
{
    self->edge_room = 1024;
    self->edges = PyMem_RawCalloc(self->edge_room, sizeof(Edge));
    self->nodes = PyMem_RawCalloc(MAX_NODES + 2 * MAX_ROOTS, sizeof(Node *));
    self->durations = PyMem_RawCalloc(MOST_DURATIONS, sizeof(Duration));
    if (self->edges == NULL || self->nodes == NULL || self->durations == NULL) {
        return 0;
    }
    for (uint32_t root = 0; root < MAX_ROOTS; root++) {
        if (node_new(self, NULL, NULL, root) == NULL) {
            return 0;
        }
    }
    PyObject *name = PyUnicode_InternFromString("(more regions)");
    Region *region = name != NULL ? core_region(self, name, 0) : NULL;
    Py_XDECREF(name);
    for (uint32_t root = 0; region != NULL && root < MAX_ROOTS; root++) {
        self->overflow[root] = node_new(self, self->nodes[root], region, root);
        if (self->overflow[root] == NULL) {
            return 0;
        }
    }
    return region != NULL;
}

static int
core_init(Core *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"describe", "special", "clock", "on_loop", "reduce", NULL};
    PyObject *describe = Py_None, *special = Py_None, *clock = Py_None, *on_loop = Py_None;
    PyObject *reduce = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|OOOOO", names, &describe, &special, &clock,
                                     &on_loop, &reduce)) {
        return -1;
    }
    if (self->nodes != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a Core is initialized once");
        return -1;
    }
    core_renew_serial(self);
#define KEEP(field, value)                \
    if (value != Py_None) {               \
        Py_INCREF(value);                 \
        self->field = value;              \
    }
    KEEP(describe, describe)
    KEEP(special, special)
    KEEP(clock, clock)
    KEEP(on_loop, on_loop)
    KEEP(reduce, reduce)
#undef KEEP
    self->regions = PyDict_New();
    self->counters = PyDict_New();
    self->failures = PyDict_New();
    PyObject *off = PyUnicode_FromString("(off)");
    self->off = off != NULL ? region_new(NULL, off, 0) : NULL;
    Py_XDECREF(off);
    if (!self->regions || !self->counters || !self->failures || !self->off) {
        return -1;
    }
    if (!core_init_nodes(self)) {
        if (!PyErr_Occurred()) {
            PyErr_NoMemory();
        }
        return -1;
    }
    return 0;
}

static int
core_traverse(Core *self, visitproc visit, void *arg)
{
    Py_VISIT(self->clock);
    Py_VISIT(self->describe);
    Py_VISIT(self->special);
    Py_VISIT(self->on_loop);
    Py_VISIT(self->arrived);
    Py_VISIT(self->reduce);
    Py_VISIT(self->regions);
    Py_VISIT(self->counters);
    Py_VISIT(self->failures);
    Py_VISIT(self->off);
    Py_VISIT(self->watch_call);
    Py_VISIT(self->rested_counters);
    return 0;
}

static int
core_clear(Core *self)
{
    Py_CLEAR(self->describe);
    Py_CLEAR(self->special);
    Py_CLEAR(self->on_loop);
    Py_CLEAR(self->arrived);
    Py_CLEAR(self->reduce);
    Py_CLEAR(self->regions);
    Py_CLEAR(self->counters);
    Py_CLEAR(self->failures);
    Py_CLEAR(self->off);
    Py_CLEAR(self->watch_call);
    Py_CLEAR(self->rested_counters);
    return 0;
}

static void
core_dealloc(Core *self)
{
    PyObject_GC_UnTrack(self);
    core_clear(self);
    Py_CLEAR(self->clock);
    Py_CLEAR(self->watched);
    for (int i = 0; i < MOST_COUNTERS; i++) {
        Py_CLEAR(self->native_counters[i].name);
    }
    while (self->threads != NULL) {
        Thread *next = self->threads->next;
        core_free_thread(self, self->threads);
        self->threads = next;
    }
    for (uint32_t i = 0; i < self->node_count; i++) {
        for (uint32_t octave = 0; octave < OCTAVES; octave++) {
            PyMem_RawFree(self->nodes[i]->histogram[octave]);
        }
        PyMem_RawFree(self->nodes[i]->memory);
    }
    PyMem_RawFree(self->nodes);
    PyMem_RawFree(self->edges);
    PyMem_RawFree(self->durations);
    PyMem_RawFree(self->slices);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject CoreType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Core",
    .tp_doc = "A tree of regions with its counters.",
    .tp_basicsize = sizeof(Core),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)core_init,
    .tp_methods = core_methods,
    .tp_getset = core_getset,
    .tp_members = core_members,
    .tp_traverse = (traverseproc)core_traverse,
    .tp_clear = (inquiry)core_clear,
    .tp_dealloc = (destructor)core_dealloc,
};
