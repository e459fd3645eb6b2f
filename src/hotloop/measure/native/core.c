/* Core: a tree of regions with its counters, and what Python can ask of it. */

#include "core.h"

static uint64_t core_serials = 0;

#if UINTPTR_MAX == UINT64_MAX
_Static_assert(sizeof(Frame) == CACHE_LINE, "a frame is one line of a cache");
_Static_assert(offsetof(Node, gaps) == CACHE_LINE, "what every call needs of a node is one line");
#endif

static Region *
core_region(Core *core, PyObject *name)
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
        PyObject *answer = PyObject_CallOneArg(core->describe, name);
        if (answer == NULL) {
            return NULL;
        }
        flags = PyLong_AsLong(answer);
        Py_DECREF(answer);
        if (flags == -1 && PyErr_Occurred()) {
            return NULL;
        }
    }
    Region *region = region_new(core, name, (uint32_t)flags);
    if (region == NULL) {
        return NULL;
    }
    /* Meanwhile another thread may have made one of that name, which is in use: that one stays. */
    PyObject *kept = PyDict_SetDefault(core->regions, name, (PyObject *)region);
    Py_DECREF(region);
    return (Region *)kept;
}

PyDoc_STRVAR(core_region_doc,
"region(name)\n--\n\nThe region of that name, enabled or not.");

static PyObject *
core_method_region(Core *self, PyObject *name)
{
    Region *region = core_region(self, name);
    Py_XINCREF(region);
    return (PyObject *)region;
}

PyDoc_STRVAR(core_profile_doc,
"profile(name, category=None, track_memory=False)\n--\n\n"
"A region to be used with `with`; while disabled, one that does nothing.");

static PyObject *
core_method_profile(Core *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    if (!self->enabled) {
        Py_INCREF(self->off);
        return (PyObject *)self->off;
    }
    if (nargs == 1 && names == NULL) {
        Region *region = core_region(self, args[0]);
        Py_XINCREF(region);
        return (PyObject *)region;
    }
    if (self->special == NULL) {
        PyErr_SetString(PyExc_TypeError, "profile() takes a name");
        return NULL;
    }
    return PyObject_Vectorcall(self->special, args, (size_t)nargs, names);
}

static void
core_watch_count(Core *self, PyObject *name, PyObject *amount)
{
    if (PyUnicode_Compare(self->watched, name) != 0) {
        return;
    }
    self->watch_left -= PyFloat_AsDouble(amount);
    if (self->watch_left > 0 || self->watch_call == NULL) {
        return;
    }
    PyObject *call = self->watch_call;
    self->watch_call = NULL;
    Py_CLEAR(self->watched);
    PyObject *answer = PyObject_CallNoArgs(call);
    Py_XDECREF(answer);
    Py_DECREF(call);
}

PyDoc_STRVAR(core_count_doc,
"count(name, n=1)\n--\n\nAdd to a counter.");

/* `amount` is an int or a float. */
static int
core_add(Core *self, PyObject *name, PyObject *amount)
{
    PyObject *old = PyDict_GetItemWithError(self->counters, name);
    PyObject *sum = NULL;
    if (old != NULL) {
        sum = PyNumber_Add(old, amount);
    }
    else if (!PyErr_Occurred()) {
        Py_INCREF(amount);
        sum = amount;
    }
    int failed = sum == NULL || PyDict_SetItem(self->counters, name, sum);
    Py_XDECREF(sum);
    return failed;
}

static int
core_count_amount(Core *self, PyObject *name, PyObject *amount)
{
    if (!self->enabled) {
        return 0;
    }
    int failed = core_add(self, name, amount);
    if (!failed && self->watched != NULL) {
        core_watch_count(self, name, amount);
        failed = PyErr_Occurred() != NULL;
    }
    return failed ? -1 : 0;
}

int
core_count(Core *self, PyObject *name, long long n)
{
    PyObject *amount = PyLong_FromLongLong(n);
    if (amount == NULL) {
        return -1;
    }
    int failed = core_count_amount(self, name, amount);
    Py_DECREF(amount);
    return failed;
}

Counter *
core_counter(Core *self, const char *name)
{
    for (int i = 0; i < MOST_COUNTERS; i++) {
        Counter *each = &self->native_counters[i];
        if (each->name == NULL) {
            each->name = PyUnicode_InternFromString(name);
            return each->name != NULL ? each : NULL;
        }
        if (PyUnicode_CompareWithASCIIString(each->name, name) == 0) {
            return each;
        }
    }
    PyErr_SetString(PyExc_RuntimeError, "too many native counters");
    return NULL;
}

/* What native code has counted goes among the others; -1 with an exception. */
static int
core_gather_counters(Core *self)
{
    for (int i = 0; self->counters != NULL && i < MOST_COUNTERS && self->native_counters[i].name != NULL; i++) {
        Counter *each = &self->native_counters[i];
        PyObject *amount = each->n ? PyLong_FromLongLong(each->n) : NULL;
        if (amount != NULL) {
            each->n = 0;
            core_add(self, each->name, amount);
            Py_DECREF(amount);
        }
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

static PyObject *
core_method_count(Core *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || nargs > 2 || !PyUnicode_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "count(name, n=1): name is a string, n a number");
        return NULL;
    }
    if (nargs == 2 && !PyLong_Check(args[1]) && !PyFloat_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "count(name, n=1): n is an int or a float");
        return NULL;
    }
    int failed = nargs == 2 ? core_count_amount(self, args[0], args[1]) : core_count(self, args[0], 1);
    if (failed) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_watch_doc,
"watch(name, limit, call)\n--\n\nCall once, when the counter has grown by `limit` from now.");

static PyObject *
core_method_watch(Core *self, PyObject *args)
{
    PyObject *name, *call;
    double limit;
    if (!PyArg_ParseTuple(args, "UdO", &name, &limit, &call)) {
        return NULL;
    }
    Py_INCREF(name);
    Py_XSETREF(self->watched, name);
    Py_INCREF(call);
    Py_XSETREF(self->watch_call, call);
    self->watch_left = limit;
    Py_RETURN_NONE;
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
"innermost()\n--\n\nThe name of the region that this thread is in, gaps left out; None outside.");

static PyObject *
core_method_innermost(Core *self, PyObject *unused)
{
    (void)unused;
    Region *region = core_innermost(self);
    PyObject *name = region != NULL ? region->name : Py_None;
    Py_INCREF(name);
    return name;
}

PyDoc_STRVAR(core_main_node_doc,
"main_node()\n--\n\nThe place that the main thread is at, by its number; asked from any thread.");

static PyObject *
core_method_main_node(Core *self, PyObject *unused)
{
    (void)unused;
    Thread *thread = self->main_thread;
    return PyLong_FromUnsignedLong(thread != NULL ? thread->top->id : 0);
}

PyDoc_STRVAR(core_end_gap_doc, "end_gap()\n--\n\nEnd the gap that this thread is in, if any.");

static PyObject *
core_method_end_gap(Core *self, PyObject *unused)
{
    (void)unused;
    Thread *thread = core_thread(self);
    if (thread != NULL) {
        Stack *stack = thread_stack(thread);
        if (stack_in_gap(stack)) {
            thread_end_gap(self, thread, stack, core_now(self));
        }
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_claim_gap_doc,
"claim_gap(region)\n--\n\n"
"The gap that ended last was that region's: its time, which was its parent's so far, goes there.\n"
"It is a call of its own only where the region is never called: elsewhere it is what a call\n"
"begins or ends with.");

void
core_claim_gap(Core *self, Region *region)
{
    Node *parent = self->gap_parent;
    uint64_t ns = self->gap_ns, left = self->gap_left_ns;
    self->gap_parent = NULL;
    self->gap_ns = self->gap_left_ns = 0;
    if (parent == NULL) {
        return;
    }
    Node *node = node_child(self, parent, region);
    core_claim_slices(self, NULL, node);
    left = left < parent->self_ns ? left : parent->self_ns;
    parent->self_ns -= left;
    node->self_ns += left;
    if (node->parent == parent) {
        node->elapsed_ns += left;
    }
    if (node->calls > node->gaps) {
        node->flags |= NODE_CALLED;
    }
    if (!(node->flags & NODE_CALLED)) {
        node->calls++;
        node->gaps++;
        core_add_duration(self, node, ns);
        node->min_ns = ns < node->min_ns ? ns : node->min_ns;
        node->max_ns = ns > node->max_ns ? ns : node->max_ns;
    }
    node->last_ns = core_now(self);
    if (node->first_ns == 0) {
        node->first_ns = node->last_ns - ns;
    }
    if (ns > region->longest_ns) {
        region->longest_ns = ns;
    }
}

static PyObject *
core_method_claim_gap(Core *self, PyObject *argument)
{
    if (Py_TYPE(argument) != &RegionType || ((Region *)argument)->core != self) {
        PyErr_SetString(PyExc_TypeError, "claim_gap(region): a region of this core");
        return NULL;
    }
    core_claim_gap(self, (Region *)argument);
    Py_RETURN_NONE;
}

static PyObject *
node_row(Node *node)
{
    Py_ssize_t filled = 0;
    for (uint32_t octave = 0; octave < OCTAVES; octave++) {
        uint32_t *page = node->histogram[octave];
        for (uint32_t step = 0; page != NULL && step < STEPS; step++) {
            filled += page[step] != 0;
        }
    }
    PyObject *histogram = PyTuple_New(filled * 2);
    if (histogram == NULL) {
        return NULL;
    }
    Py_ssize_t at = 0;
    for (uint32_t octave = 0; octave < OCTAVES; octave++) {
        uint32_t *page = node->histogram[octave];
        for (uint32_t step = 0; page != NULL && step < STEPS; step++) {
            if (page[step] != 0) {
                PyTuple_SET_ITEM(histogram, at++, PyLong_FromUnsignedLong(octave * STEPS + step));
                PyTuple_SET_ITEM(histogram, at++, PyLong_FromUnsignedLong(page[step]));
                page[step] = 0;
            }
        }
    }
    unsigned long long shortest = node->calls ? node->min_ns : 0;
    return Py_BuildValue("(IKKKKKNKKK)", node->id, (unsigned long long)node->calls,
                         (unsigned long long)node->self_ns, (unsigned long long)node->elapsed_ns,
                         shortest, (unsigned long long)node->max_ns, histogram,
                         (unsigned long long)node->first_ns, (unsigned long long)node->last_ns,
                         (unsigned long long)node->resident_peak);
}

static void
node_forget(Node *node)
{
    node->calls = node->gaps = node->self_ns = node->elapsed_ns = node->max_ns = 0;
    node->min_ns = UINT64_MAX;
    node->first_ns = node->last_ns = 0;
    node->resident_peak = 0;
    for (uint32_t octave = 0; octave < OCTAVES; octave++) {
        if (node->histogram[octave] != NULL) {
            memset(node->histogram[octave], 0, STEPS * sizeof(uint32_t));
        }
    }
}

/* A thread that comes from native code puts its state before all others without the GIL, and says a
 * moment later which is the next: until then the list seems to end there. If this thread's own is not
 * in it, nothing can be said of the others. */
static int
thread_is_dead(Thread *thread)
{
    PyThreadState *own = PyThreadState_Get();
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    int seen_own = 0;
    for (; state != NULL; state = PyThreadState_Next(state)) {
        if (PyThreadState_GetID(state) == thread->id) {
            return 0;
        }
        seen_own |= state == own;
    }
    return seen_own;
}

/* Threads that have ended since the last look: what they left open is closed. */
static void
core_drop_dead_threads(Core *core, uint64_t now)
{
    Thread **link = &core->threads;
    while (*link != NULL) {
        Thread *thread = *link;
        if (thread->root == 0 || !thread_is_dead(thread)) {
            link = &thread->next;
            continue;
        }
        for (Stack *stack = thread->stacks; stack != NULL; stack = stack->next) {
            while (stack->depth > 0) {
                frame_close(core, &stack->frames[--stack->depth], now);
            }
        }
        *link = thread->next;
        thread_free(thread);
        core->serial = ++core_serials; /* a thread that comes again must not find what it had */
    }
}

/* Gaps that are open at a snapshot: what they counted is theirs, unless it is too long to be true. */
static void
core_keep_gaps(Core *core)
{
    core->gap_parent = NULL;
    core->gap_ns = core->gap_left_ns = 0;
    for (Thread *thread = core->threads; thread != NULL; thread = thread->next) {
        Stack *stack = thread->stack;
        if (!stack_in_gap(stack)) {
            continue;
        }
        Frame *frame = &stack->frames[stack->depth - 1];
        if (frame->active > LONG_GAP_NS &&
            frame->active > LONG_GAP_TIMES * frame->region->longest_ns) {
            Node *parent = stack->depth > 1 ? stack->frames[stack->depth - 2].node : stack->base;
            node_move(frame->node, parent, frame->active - frame->kept);
        }
        else {
            core_claim_slices(core, frame->node, frame->node);
        }
        frame->kept = frame->active;
    }
    core->slice_gap = core->slice_count;
}

/* What happened at each place since the last time, which is forgotten with that. */
static PyObject *
core_take_rows(Core *core)
{
    PyObject *rows = PyList_New(0);
    for (uint32_t i = 0; rows != NULL && i < core->node_count; i++) {
        Node *node = core->nodes[i];
        if (node->calls == 0 && node->self_ns == 0 && node->elapsed_ns == 0) {
            continue;
        }
        PyObject *row = node_row(node);
        if (row == NULL || PyList_Append(rows, row)) {
            Py_CLEAR(rows);
        }
        else {
            node_forget(node);
        }
        Py_XDECREF(row);
    }
    return rows;
}

PyDoc_STRVAR(core_snapshot_doc,
"snapshot()\n--\n\n"
"(now, rows, counters, loop_last): all that happened since the last snapshot. A row is\n"
"(node, calls, self_ns, elapsed_ns, min_ns, max_ns, histogram, first_ns, last_ns, resident_peak).");

static PyObject *
core_method_snapshot(Core *self, PyObject *unused)
{
    (void)unused;
    uint64_t now = core_now(self);
    if (self->enabled) {
        core_count_open(self, now);
    }
    core_drop_dead_threads(self, now);
    core_keep_gaps(self);
    /* A garbage collection may run Python, and with it the regions that are being read. */
    int collects = PyGC_Disable();
    core_file_durations(self);
    PyObject *rows = core_take_rows(self);
    if (collects) {
        PyGC_Enable();
    }
    if (rows == NULL) {
        return NULL;
    }
    if (core_gather_counters(self) < 0) {
        Py_DECREF(rows);
        return NULL;
    }
    PyObject *counters = self->counters;
    self->counters = PyDict_New();
    return Py_BuildValue("(KNNK)", (unsigned long long)now, rows, counters,
                         (unsigned long long)self->loop_last);
}

PyDoc_STRVAR(core_nodes_doc,
"nodes(start=0)\n--\n\n[(node, parent or -1, name, root)] of the places made since `start`.");

static PyObject *
core_method_nodes(Core *self, PyObject *args)
{
    unsigned int start = 0;
    if (!PyArg_ParseTuple(args, "|I", &start)) {
        return NULL;
    }
    PyObject *list = PyList_New(0);
    for (uint32_t i = start; list != NULL && i < self->node_count; i++) {
        Node *node = self->nodes[i];
        PyObject *name = node->region != NULL ? node->region->name : Py_None;
        PyObject *row = Py_BuildValue("(IiOI)", node->id,
                                      node->parent != NULL ? (int)node->parent->id : -1, name,
                                      node->root);
        if (row == NULL || PyList_Append(list, row)) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

PyDoc_STRVAR(core_after_fork_doc,
"after_fork()\n--\n\n"
"In a forked child: only this thread lives on. What is open counts from now; the rest was the\n"
"parent's.");

static PyObject *
core_method_after_fork(Core *self, PyObject *unused)
{
    (void)unused;
    Thread *current = core_thread(self);
    if (current == NULL) {
        return PyErr_NoMemory();
    }
    Thread *thread = self->threads;
    while (thread != NULL) {
        Thread *next = thread->next;
        if (thread != current) {
            thread_free(thread);
        }
        thread = next;
    }
    self->threads = current;
    current->next = NULL;
    current->root = 0;
    current->in_network = current->in_read = 0; /* what was called may never return here */
    self->main_thread = current;
    for (uint32_t i = 0; i < self->node_count; i++) {
        node_forget(self->nodes[i]);
    }
    self->duration_count = 0;
    PyDict_Clear(self->counters);
    for (int i = 0; i < MOST_COUNTERS; i++) {
        self->native_counters[i].n = 0;
    }
    self->loop_first = self->loop_last = 0;
    self->slice_count = self->slice_gap = 0;
    self->slices_lost = 0;
    self->gap_parent = NULL;
    self->gap_ns = self->gap_left_ns = self->own_ns = 0;
    self->noting = 0;
    core_skip_open(self, core_now(self));
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_forget_loop_doc,
"forget_loop()\n--\n\n"
"The next entry of a phase of the training loop begins a loop anew.");

static PyObject *
core_method_forget_loop(Core *self, PyObject *unused)
{
    (void)unused;
    self->loop_first = self->loop_last = 0;
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_trace_doc,
"trace(room)\n--\n\n"
"Keep up to `room` slices from now on, until they are taken; 0 keeps none.");

static PyObject *
core_method_trace(Core *self, PyObject *amount)
{
    unsigned long room = PyLong_AsUnsignedLong(amount);
    if (PyErr_Occurred()) {
        return NULL;
    }
    if (room > UINT32_MAX / sizeof(Slice)) {
        PyErr_SetString(PyExc_ValueError, "trace(room): too much");
        return NULL;
    }
    PyMem_RawFree(self->slices);
    self->slices = room ? PyMem_RawMalloc(room * sizeof(Slice)) : NULL;
    self->slice_room = self->slices != NULL ? (uint32_t)room : 0;
    self->slice_count = self->slice_gap = 0;
    self->slices_lost = 0;
    if (room && self->slices == NULL) {
        return PyErr_NoMemory();
    }
    uint64_t now = core_now(self);
    for (Thread *thread = self->threads; thread != NULL; thread = thread->next) {
        for (Stack *stack = thread->stacks; stack != NULL; stack = stack->next) {
            for (uint32_t i = 0; i < stack->depth; i++) {
                stack->frames[i].begin = now;
            }
        }
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(core_slices_doc,
"slices()\n--\n\n"
"(bytes, lost): the slices since they were last taken, each as two 64-bit numbers (begin, end)\n"
"and two of 32 bits (the node, 0), and how many there was no room for. Calls that are open as a\n"
"snapshot is taken are cut there; gaps that nobody claimed are left out.");

static PyObject *
core_method_slices(Core *self, PyObject *unused)
{
    (void)unused;
    uint32_t kept = 0;
    for (uint32_t i = 0; i < self->slice_count; i++) {
        if (!self->slices[i].unclaimed) {
            self->slices[kept++] = self->slices[i];
        }
    }
    PyObject *answer = Py_BuildValue("(y#K)", self->slices != NULL ? (char *)self->slices : "",
                                     (Py_ssize_t)(kept * sizeof(Slice)),
                                     (unsigned long long)self->slices_lost);
    self->slice_count = self->slice_gap = 0;
    self->slices_lost = 0;
    return answer;
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
    Py_INCREF(self->reduce);
    return self->reduce;
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
    {"forget_loop", (PyCFunction)core_method_forget_loop, METH_NOARGS, core_forget_loop_doc},
    {"own", (PyCFunction)core_method_own, METH_NOARGS, core_own_doc},
    {"skip", (PyCFunction)core_method_skip, METH_O, core_skip_doc},
    {"trace", (PyCFunction)core_method_trace, METH_O, core_trace_doc},
    {"slices", (PyCFunction)core_method_slices, METH_NOARGS, core_slices_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *
core_get_enabled(Core *self, void *closure)
{
    (void)closure;
    return PyBool_FromLong(self->enabled);
}

static PyObject *
core_get_failures(Core *self, void *closure)
{
    (void)closure;
    Py_INCREF(self->failures);
    return self->failures;
}

static PyObject *
core_get_unmatched(Core *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(self->unmatched);
}

static PyObject *
core_get_loop_first(Core *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(self->loop_first);
}

static PyGetSetDef core_getset[] = {
    {"enabled", (getter)core_get_enabled, NULL, "Whether regions are counted.", NULL},
    {"failures", (getter)core_get_failures, NULL, "Hooks that failed, with their errors.", NULL},
    {"unmatched", (getter)core_get_unmatched, NULL, "Exits of regions that were not open.", NULL},
    {"loop_first", (getter)core_get_loop_first, NULL, "When the training loop began, or 0.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
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
    Region *region = name != NULL ? core_region(self, name) : NULL;
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
        PyErr_SetString(PyExc_RuntimeError, "a Core is initialised once");
        return -1;
    }
    self->serial = ++core_serials;
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
    Py_VISIT(self->reduce);
    Py_VISIT(self->regions);
    Py_VISIT(self->counters);
    Py_VISIT(self->failures);
    Py_VISIT(self->off);
    Py_VISIT(self->watch_call);
    return 0;
}

static int
core_clear(Core *self)
{
    Py_CLEAR(self->describe);
    Py_CLEAR(self->special);
    Py_CLEAR(self->on_loop);
    Py_CLEAR(self->reduce);
    Py_CLEAR(self->regions);
    Py_CLEAR(self->counters);
    Py_CLEAR(self->failures);
    Py_CLEAR(self->off);
    Py_CLEAR(self->watch_call);
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
        thread_free(self->threads);
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
    .tp_traverse = (traverseproc)core_traverse,
    .tp_clear = (inquiry)core_clear,
    .tp_dealloc = (destructor)core_dealloc,
};

/* ---- module ---- */

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hotloop.measure._native",
    .m_doc = "The region clock and the sampler in C.",
    .m_size = -1,
};

PyMODINIT_FUNC
PyInit__native(void)
{
    PyTypeObject *types[] = {&CoreType,         &RegionType, &RegionCallType,
                             &RegionMethodType, &TimedType,  &SamplerType,
                             &OrderType,        &NetworksType, &LearningType,
                             &StepsType,        &ShortcutType, &TransfersType};
    for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
        if (PyType_Ready(types[i]) < 0) {
            return NULL;
        }
    }
    if (region_type_add_methods() < 0) {
        return NULL;
    }
    PyObject *self = PyModule_Create(&module);
    if (self == NULL || PyModule_AddObjectRef(self, "Core", (PyObject *)&CoreType) < 0 ||
        PyModule_AddObjectRef(self, "Sampler", (PyObject *)&SamplerType) < 0 ||
        PyModule_AddObjectRef(self, "Order", (PyObject *)&OrderType) < 0 ||
        PyModule_AddObjectRef(self, "Networks", (PyObject *)&NetworksType) < 0 ||
        PyModule_AddObjectRef(self, "Learning", (PyObject *)&LearningType) < 0 ||
        PyModule_AddObjectRef(self, "Steps", (PyObject *)&StepsType) < 0 ||
        PyModule_AddObjectRef(self, "Transfers", (PyObject *)&TransfersType) < 0 ||
        PyModule_AddObjectRef(self, "Shortcut", (PyObject *)&ShortcutType) < 0) {
        Py_XDECREF(self);
        return NULL;
    }
    return self;
}
