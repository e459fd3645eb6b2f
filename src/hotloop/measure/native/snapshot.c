/* Snapshots: the change of each node since the last one; the slices of a trace; the state after a
 * fork. */

#include "core_methods.h"
#include "timed.h"

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
    if (node->calls > node->gaps) {
        node->flags |= NODE_CALLED; /* which gaps need to know in the next window, too */
    }
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

/* Marks the threads that live. 0 if that cannot be said: a thread that comes from native code puts
 * its state before all others without the GIL, and says a moment later which is the next. Until then
 * the list seems to end there, without this thread's own. */
static int
core_check_threads(Core *core)
{
    PyThreadState *own = PyThreadState_Get();
    PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    int seen_own = 0;
    core->checks++;
    for (; state != NULL; state = PyThreadState_Next(state)) {
        seen_own |= state == own;
        Thread *thread = *thread_chain(core, state->thread_id);
        while (thread != NULL && thread->id != PyThreadState_GetID(state)) {
            thread = thread->chain;
        }
        if (thread != NULL) {
            thread->checked = core->checks;
        }
    }
    return seen_own;
}

/* Threads that have ended since the last time: what they left open is closed. */
static void
core_drop_dead_threads(Core *core, uint64_t now)
{
    if (!core_check_threads(core)) {
        return;
    }
    Thread **link = &core->threads;
    while (*link != NULL) {
        Thread *thread = *link;
        if (thread->root == 0 || thread->checked == core->checks) {
            link = &thread->next;
            continue;
        }
        thread_close(core, thread, now);
        *link = thread->next;
        core_free_thread(core, thread);
        core_renew_serial(core); /* a thread that comes again must not find what it had */
    }
}

/* Takes what happened at each node since the last time. */
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
            int learns = node->region != NULL && node->region->flags & REGION_LEARNS;
            core->learnt_ns += learns ? node->self_ns : 0;
            node_forget(node);
        }
        Py_XDECREF(row);
    }
    return rows;
}

const char core_snapshot_doc[] = PyDoc_STR(
"snapshot()\n--\n\n"
"(now, rows, counters, loop_last): all that happened since the last snapshot. A row is\n"
"(node, calls, self_ns, elapsed_ns, min_ns, max_ns, histogram, first_ns, last_ns, resident_peak).");

PyObject *
core_method_snapshot(Core *self, PyObject *unused)
{
    (void)unused;
    uint64_t now = core_now(self);
    if (self->enabled) {
        core_count_open(self, now);
    }
    core_drop_dead_threads(self, now);
    core_drop_dead_stacks(self, now);
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

const char core_nodes_doc[] = PyDoc_STR(
"nodes(start=0)\n--\n\n[(node, parent or -1, name, root)] of the nodes made since `start`.");

PyObject *
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

const char core_after_fork_doc[] = PyDoc_STR(
"after_fork()\n--\n\n"
"In a forked child only this thread continues. What is open counts from now; the rest was the\n"
"parent's.");

PyObject *
core_method_after_fork(Core *self, PyObject *unused)
{
    (void)unused;
    Thread *current = core_thread(self);
    if (current == NULL) {
        return PyErr_NoMemory();
    }
    stretches_stop(self);
    chain_forget(NULL);
    current->counted = NULL;
    Py_CLEAR(current->learning);
    Thread *thread = self->threads;
    while (thread != NULL) {
        Thread *next = thread->next;
        if (thread != current) {
            core_free_thread(self, thread);
        }
        thread = next;
    }
    self->threads = current;
    current->next = NULL;
    self->root_threads[current->root]--;
    self->root_threads[0]++;
    self->main_ident = 0; /* the thread that forked is the child's main one */
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

const char core_leave_all_doc[] = PyDoc_STR(
"leave_all()\n--\n\n"
"Close what is open in this thread without counting it: a forked child that never returns to it.");

PyObject *
core_method_leave_all(Core *self, PyObject *unused)
{
    (void)unused;
    PyThreadState *state = PyThreadState_Get();
    Thread *thread = core_thread_of(self, state);
    if (thread == NULL) {
        return PyErr_NoMemory();
    }
    Stack *stack = thread_stack_of(thread, state);
    thread_charge(thread, core_now(self));
    stack->depth = 0;
    thread_set_top(thread, stack_top(stack));
    Py_RETURN_NONE;
}

const char core_trace_doc[] = PyDoc_STR(
"trace(room)\n--\n\n"
"Keep up to `room` slices from now on, until they are taken; 0 keeps none.");

PyObject *
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

const char core_slices_doc[] = PyDoc_STR(
"slices()\n--\n\n"
"(bytes, lost): the slices since they were last taken, each as two 64-bit numbers (begin, end)\n"
"and two of 32 bits (the node, 0), and how many there was no room for. Calls that are open as a\n"
"snapshot is taken are cut there; unclaimed gaps are left out.");

PyObject *
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
