/* Entering and leaving a region: the hot path.
 *
 * Time is charged by switching: at every entry and exit, the time since the previous one belongs to
 * the node that was on top. So the own times of a thread's nodes add up to its wall time
 * whatever the program does, out-of-order exits included. `hotloop.measure.twin` counts
 * the same in Python; one test suite runs over both. Everything here runs with the GIL held. */

#include "core.h"

/* Take `ns` out of everything that is open. */
void
thread_skip(Thread *thread, Stack *stack, uint64_t ns)
{
    thread->last += ns;
    for (uint32_t i = 0; i < stack->depth; i++) {
        stack->frames[i].mark += ns;
    }
}

/* The last `ns` of this thread were hotloop's own: they belong to no region. */
void
thread_take_own(Core *core, Thread *thread, uint64_t ns)
{
    core->own_ns += ns;
    thread_skip(thread, thread_stack(thread), ns);
}

/* ---- entering and leaving ---- */

/* Keep what a frame did since it began or was last cut; only while a trace is kept. */
HOTLOOP_COLD void
core_keep_slice(Core *core, Frame *frame, uint64_t now)
{
    if (core->slice_count == core->slice_room) {
        core->slices_lost++;
        return;
    }
    core->slices[core->slice_count++] =
        (Slice){frame->begin, now, frame->node->id, (uint32_t)frame->gap};
}

/* Runs in the main thread, at a bytecode boundary. */
static int
raise_again(void *error)
{
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)error), error);
    Py_DECREF((PyObject *)error);
    return -1;
}

/* Raise the current exception again, at the next bytecode of this thread's program. */
static void
core_pass_on(Core *core)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (!on_main_thread(core)) {
        PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type);
    }
    else if (value != NULL && Py_AddPendingCall(raise_again, value) == 0) {
        value = NULL; /* the call has it */
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

HOTLOOP_COLD static void
settle_error(Core *core, PyObject *name)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        core_pass_on(core);
    }
    else if (name != NULL) {
        core_note_failure(core, name);
    }
    PyErr_Clear();
}

void
core_settle_error(Core *core, PyObject *name)
{
    if (RARELY(PyErr_Occurred() != NULL)) {
        settle_error(core, name);
    }
}

static int
raise_arrived(Core *core)
{
    PyObject *error = core->arrived;
    if (error == NULL) {
        return 0; /* raised already, by the region that began the loop */
    }
    core->arrived = NULL;
    return raise_again(error);
}

/* The same at a bytecode boundary, for a hook in C that began the loop. */
static int
raise_arrived_later(void *core)
{
    int result = raise_arrived(core);
    Py_DECREF((PyObject *)core);
    return result;
}

/* Ctrl-C came as the loop began. Python 3.14 would raise it between `__enter__` and the block of a
 * `with`, which then never calls `__exit__`: `__enter__` itself raises it, and opens nothing. */
int
region_raise_arrived(Region *region)
{
    Core *core = region->core;
    if (core->arrived == NULL || !on_main_thread(core)) {
        return 0;
    }
    region_exit(region);
    return raise_arrived(core);
}

static void
core_keep_arrived(Core *core)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    Py_INCREF(core);
    if (value != NULL && Py_AddPendingCall(raise_arrived_later, core) == 0) {
        Py_XSETREF(core->arrived, value);
        value = NULL;
    }
    else {
        Py_DECREF(core);
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

HOTLOOP_COLD static void
core_begin_loop(Core *core)
{
    if (core->on_loop != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *answer = hidden_call_none(core->on_loop);
        if (answer == NULL && on_main_thread(core) && !PyErr_ExceptionMatches(PyExc_Exception)) {
            core_keep_arrived(core);
        }
        Py_XDECREF(answer);
        core_settle_error(core, NULL);
        PyErr_Restore(type, value, traceback);
    }
    core->loop_first = core_now(core);
    core->loop_last = core->loop_first;
}

/* The region is entered under another node than last time. */
HOTLOOP_COLD static void
region_find_node(Core *core, Region *region, Node *parent)
{
    region->node = node_child(core, parent, region);
    region->nested = region->node->parent != parent;
    /* A node that could not be allocated is searched for again next time. */
    region->parent = region->node != parent || parent->region == region ? parent : NULL;
}

void
stack_enter(Core *core, Thread *thread, Stack *stack, Region *region)
{
    Region *resume = NULL;
    if (stack_in_gap(stack)) {
        if (region->flags & REGION_BESIDE) {
            resume = stack->frames[stack->depth - 1].region;
        }
        thread_end_gap(core, thread, stack, core_now(core));
    }
    if (RARELY(stack->depth == stack->room) && !stack_make_room(stack, 2 * stack->room)) {
        return;
    }
    Node *parent = stack_top(stack);
    if (RARELY(region->parent != parent)) {
        region_find_node(core, region, parent);
    }
    Node *node = region->node;
    int nested = region->nested;
    region->entered++;
    /* This may run Python, and let another thread enter the region elsewhere. */
    if (RARELY(core->loop_first == 0) && (node->flags & REGION_LOOP)) {
        core_begin_loop(core);
    }
    Frame *frame = &stack->frames[stack->depth++];
    frame->node = node;
    frame->region = region;
    frame->active = 0;
    frame->nested = (int16_t)nested;
    frame->gap = 0;
    frame->kept = 0;
    frame->resume = resume;
    uint64_t now = core_now(core);
    thread_charge(thread, now);
    thread_set_top(thread, node);
    frame->mark = frame->begin = now;
    if (node->first_ns == 0) {
        node->first_ns = now;
    }
}

void
region_enter(Region *region)
{
    PyThreadState *state = PyThreadState_Get();
    Thread *thread = core_thread_of(region->core, state);
    if (thread != NULL) {
        stack_enter(region->core, thread, thread_stack_of(thread, state), region);
    }
}

void
frame_close(Core *core, Frame *frame, uint64_t now)
{
    if (core->enabled) {
        frame_count(frame, now);
        if (RARELY(core->slices != NULL)) {
            core_keep_slice(core, frame, now);
        }
    }
    Node *node = frame->node;
    uint64_t duration = frame->active;
    node->calls++;
    if (duration < node->min_ns) {
        node->min_ns = duration;
    }
    if (duration > node->max_ns) {
        node->max_ns = duration;
    }
    node->last_ns = now;
    if (node->flags & REGION_LOOP) {
        core->loop_last = now;
    }
    core_add_duration(core, node, duration);
}

static int
stack_find(Stack *stack, Region *region)
{
    for (uint32_t i = stack->depth; i > 0; i--) {
        if (stack->frames[i - 1].region == region) {
            return (int)i - 1;
        }
    }
    return -1;
}

/* An exit that is not the top of its stack: the region is closed where it is, the others stay
 * open. It may belong to another task or thread (a generator closed elsewhere). */
HOTLOOP_COLD static void
region_exit_out_of_order(Core *core, Thread *thread, Region *region, uint64_t now)
{
    Thread *owner = thread;
    Stack *stack = thread->stack;
    int index = stack_find(stack, region);
    for (Thread *each = core->threads; index < 0 && each != NULL; each = each->next) {
        owner = each;
        for (stack = each->stacks; stack != NULL; stack = stack->next) {
            index = stack_find(stack, region);
            if (index >= 0) {
                break;
            }
        }
    }
    if (index < 0) {
        core->unmatched++;
        return;
    }
    Frame closing = stack->frames[index];
    memmove(&stack->frames[index], &stack->frames[index + 1],
            (stack->depth - (uint32_t)index - 1) * sizeof(Frame));
    stack->depth--;
    frame_close(core, &closing, now);
    if (owner->stack == stack) {
        if (core->enabled) {
            thread_charge(owner, now);
        }
        thread_set_top(owner, stack_top(stack));
    }
    else if (stack->depth == 0 && stack != owner->first) {
        Py_XDECREF(stack_end(owner, stack));
    }
}

void
region_exit(Region *region)
{
    Core *core = region->core;
    PyThreadState *state = PyThreadState_Get();
    Thread *thread = core_thread_of(core, state);
    if (RARELY(thread == NULL)) {
        return;
    }
    Stack *stack = thread_stack_of(thread, state);
    uint64_t now = core_now(core);
    if (core->enabled) {
        thread_charge(thread, now);
    }
    if (stack_in_gap(stack)) {
        thread_end_gap(core, thread, stack, now);
    }
    if (RARELY(stack->depth == 0 || stack->frames[stack->depth - 1].region != region)) {
        if (core->resting && stack->depth > 0 && stack->frames[stack->depth - 1].region == core->rest) {
            stretches_end_rest(core);
            core->head_left++; /* no entry of the head, unlike when it ends by itself */
            region_exit(region);
            return;
        }
        region_exit_out_of_order(core, thread, region, now);
        return;
    }
    Frame *frame = &stack->frames[--stack->depth];
    Region *resume = frame->resume;
    frame_close(core, frame, now);
    thread_set_top(thread, stack_top(stack));
    if (resume != NULL && core->enabled) {
        region_enter_gap(resume);
    }
}

/* Count everything that is open up to now, in every thread. */
void
core_count_open(Core *core, uint64_t now)
{
    for (Thread *thread = core->threads; thread != NULL; thread = thread->next) {
        thread_charge(thread, now);
        for (Stack *stack = thread->stacks; stack != NULL; stack = stack->next) {
            for (uint32_t i = 0; i < stack->depth; i++) {
                frame_count(&stack->frames[i], now);
                if (stack->frames[i].node->flags & REGION_LOOP) {
                    core->loop_last = now; /* the loop is not over while this is open */
                }
                if (core->slices != NULL) {
                    core_keep_slice(core, &stack->frames[i], now);
                    stack->frames[i].begin = now;
                }
            }
        }
    }
}

/* Forget the time since everything was last counted. */
void
core_skip_open(Core *core, uint64_t now)
{
    for (Thread *thread = core->threads; thread != NULL; thread = thread->next) {
        thread->last = now;
        for (Stack *stack = thread->stacks; stack != NULL; stack = stack->next) {
            for (uint32_t i = 0; i < stack->depth; i++) {
                stack->frames[i].mark = stack->frames[i].begin = now;
            }
        }
    }
}
