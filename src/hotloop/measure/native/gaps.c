/* Gaps: code without marked ends. A gap is open until anything else begins or ends. Its time
 * belongs to its parent until it is claimed for a region. */

#include "core_methods.h"

/* The slices of the gap that was claimed (those at `was`, or all) are of `node`. */
void
core_claim_slices(Core *core, Node *was, Node *node)
{
    for (uint32_t i = core->slice_gap; i < core->slice_count; i++) {
        Slice *slice = &core->slices[i];
        if (slice->unclaimed && (was == NULL || slice->node == was->id)) {
            slice->node = node->id;
            slice->unclaimed = 0;
        }
    }
}

/* Returns a gap's time to the node around it, which has counted it as elapsed already. */
void
node_move(Node *gap, Node *parent, uint64_t ns)
{
    ns = ns < gap->self_ns ? ns : gap->self_ns;
    gap->self_ns -= ns;
    gap->elapsed_ns -= ns < gap->elapsed_ns ? ns : gap->elapsed_ns;
    parent->self_ns += ns;
}

/* A gap on top of the stack ends as anything else begins or ends. Until it is claimed, its
 * time is its parent's. */
void
thread_end_gap(Core *core, Thread *thread, Stack *stack, uint64_t now)
{
    Frame *frame = &stack->frames[--stack->depth];
    Node *parent = stack_top(stack);
    if (core->enabled) {
        thread_charge(thread, now);
        frame_count(frame, now);
        if (RARELY(core->slices != NULL)) {
            core_keep_slice(core, frame, now);
        }
    }
    uint64_t left = frame->active - frame->kept;
    node_move(frame->node, parent, left);
    core->gap_parent = parent;
    core->gap_ns += frame->active;
    core->gap_left_ns += left;
    thread_set_top(thread, parent);
}

void
region_enter_gap(Region *region)
{
    region_enter(region);
    Thread *thread = core_thread(region->core);
    if (thread != NULL && thread->stack->depth) {
        thread->stack->frames[thread->stack->depth - 1].gap = 1;
    }
}

/* Since the last region ended only a hook has run: that time is hotloop's own. */
static void
take_own_before_gap(Core *core)
{
    Thread *thread = core_thread(core);
    uint64_t now = core_now(core);
    if (thread == NULL || now <= thread->last ||
        (now - thread->last > MOST_OWN_NS && !core->noting)) {
        return;
    }
    if (!stack_in_gap(thread_stack(thread))) {
        thread_take_own(core, thread, now - thread->last);
    }
}

const char region_gap_doc[] = PyDoc_STR(
"gap()\n--\n\n"
"Open until any region of this thread is entered or left, or `Core.end_gap`: for code without\n"
"marked ends. A gap is not `is_open` and never makes a call a nested one. After a region\n"
"that is no step of the training loop (a line of the log) it continues. Its time is the gap's only\n"
"once it is claimed (`Core.claim_gap`); the sampler sees it as this region meanwhile.");

void
region_open_gap(Region *self)
{
    Core *core = self->core;
    if (core != NULL && core->enabled && !core->resting) {
        take_own_before_gap(core);
        region_enter_gap(self);
        core->gap_parent = NULL;
        core->gap_ns = core->gap_left_ns = 0;
        core->slice_gap = core->slice_count;
    }
}

PyObject *
region_gap(Region *self, PyObject *unused)
{
    (void)unused;
    region_open_gap(self);
    Py_RETURN_NONE;
}

const char core_end_gap_doc[] = PyDoc_STR(
"end_gap()\n--\n\nEnd the gap that this thread is in, if any.");

PyObject *
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

const char core_claim_gap_doc[] = PyDoc_STR(
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

PyObject *
core_method_claim_gap(Core *self, PyObject *argument)
{
    if (Py_TYPE(argument) != &RegionType || ((Region *)argument)->core != self) {
        PyErr_SetString(PyExc_TypeError, "claim_gap(region): a region of this core");
        return NULL;
    }
    core_claim_gap(self, (Region *)argument);
    Py_RETURN_NONE;
}

/* Gaps that are open at a snapshot keep what they counted, unless they are too long to be gaps. */
void
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
