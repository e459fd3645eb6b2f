/* Threads, their stacks of open regions, and what entering and leaving a region does: the hot path.
 *
 * Time is charged by switching: at every entry and exit, the time since the last one belongs to
 * the place that was on top. So the self times of a thread's places add up to its wall time
 * whatever the program does, out-of-order exits included. `hotloop.measure.twin` is the same in
 * Python; one test suite runs over both. Everything here runs with the GIL held. */

#include "core.h"

Found core_found;

/* Room for so many frames, each in a line of a cache of its own; those that were there are kept. */
static int
stack_make_room(Stack *stack, uint32_t room)
{
    void *memory = PyMem_RawMalloc(room * sizeof(Frame) + CACHE_LINE);
    if (memory == NULL) {
        return 0;
    }
    Frame *frames = first_line(memory);
    if (stack->depth) {
        memcpy(frames, stack->frames, stack->depth * sizeof(Frame));
    }
    PyMem_RawFree(stack->memory);
    stack->memory = memory;
    stack->frames = frames;
    stack->room = room;
    return 1;
}

static Stack *
stack_new(Thread *thread, PyObject *context, Node *base)
{
    Stack *stack = PyMem_RawCalloc(1, sizeof(Stack));
    if (stack == NULL) {
        return NULL;
    }
    if (!stack_make_room(stack, 16)) {
        PyMem_RawFree(stack);
        return NULL;
    }
    Py_XINCREF(context);
    stack->context = context;
    stack->base = base;
    stack->next = thread->stacks;
    thread->stacks = stack;
    return stack;
}

static void
stack_free(Stack *stack)
{
    Py_XDECREF(stack->context);
    PyMem_RawFree(stack->memory);
    PyMem_RawFree(stack);
}

void
thread_free(Thread *thread)
{
    if (core_found.thread == thread) {
        core_found = (Found){0, 0, NULL};
    }
    Stack *stack = thread->stacks;
    while (stack != NULL) {
        Stack *next = stack->next;
        stack_free(stack);
        stack = next;
    }
    PyMem_RawFree(thread);
}

/* A root for a thread: the first is the main thread's, the last is shared by all that come when
 * every other is taken. */
static uint32_t
core_free_root(Core *core)
{
    int taken[MAX_ROOTS] = {1};
    for (Thread *other = core->threads; other != NULL; other = other->next) {
        taken[other->root] = 1;
    }
    uint32_t root = 1;
    while (root < MAX_ROOTS - 1 && taken[root]) {
        root++;
    }
    return root;
}

static int
on_main_thread(void)
{
    unsigned long main_ident = 0;
    PyObject *threading = PyImport_ImportModule("threading");
    PyObject *thread = threading ? PyObject_CallMethod(threading, "main_thread", NULL) : NULL;
    PyObject *ident = thread ? PyObject_GetAttrString(thread, "ident") : NULL;
    if (ident != NULL && ident != Py_None) {
        main_ident = PyLong_AsUnsignedLong(ident);
    }
    PyErr_Clear();
    Py_XDECREF(ident);
    Py_XDECREF(thread);
    Py_XDECREF(threading);
    return PyThread_get_thread_ident() == main_ident;
}

static Thread *
core_add_thread(Core *core, uint64_t id, uint32_t root)
{
    Thread *thread = PyMem_RawCalloc(1, sizeof(Thread));
    if (thread == NULL) {
        return NULL;
    }
    thread->id = id;
    thread->root = root;
    thread->top = core->nodes[root];
    thread->last = core_now(core);
    thread->stack = stack_new(thread, PyThreadState_Get()->context, thread->top);
    if (thread->stack == NULL) {
        PyMem_RawFree(thread);
        return NULL;
    }
    thread->next = core->threads;
    core->threads = thread;
    return thread;
}

HOTLOOP_COLD Thread *
core_find_thread(Core *core, uint64_t id)
{
    Thread *thread = core->threads;
    while (thread != NULL && thread->id != id) {
        thread = thread->next;
    }
    if (thread == NULL) {
        uint32_t root = on_main_thread() ? 0 : core_free_root(core);
        thread = core_add_thread(core, id, root);
        if (thread == NULL) {
            return NULL;
        }
        if (root == 0) {
            core->main_thread = thread;
        }
    }
    core_found = (Found){core->serial, id, thread};
    return thread;
}

/* Another asyncio task (or Context.run) is running than at the last event: its regions are its
 * own, and begin where the thread's first context stands. */
HOTLOOP_COLD void
thread_switch(Thread *thread, PyObject *context)
{
    Stack *current = thread->stack;
    if (current->context == NULL) {
        /* The thread's first ContextVar was set: same place, now with a context object. */
        Py_XINCREF(context);
        current->context = context;
        return;
    }
    Stack **link = &thread->stacks;
    Stack *stack = NULL, *root = NULL;
    while (*link != NULL) {
        Stack *each = *link;
        if (each->context == context) {
            stack = each;
        }
        if (each->next == NULL) {
            root = each;
        }
        /* A task that is done leaves an empty stack; the first context's stays. */
        if (each->depth == 0 && each->next != NULL && each->context != context &&
            each != thread->stack) {
            *link = each->next;
            stack_free(each);
            continue;
        }
        link = &each->next;
    }
    if (stack == NULL) {
        Node *base = root->depth ? root->frames[root->depth - 1].node : root->base;
        stack = stack_new(thread, context, base);
        if (stack == NULL) {
            return;
        }
    }
    thread->stack = stack;
}

/* Take `ns` out of everything that is open. */
void
thread_skip(Thread *thread, Stack *stack, uint64_t ns)
{
    thread->last += ns;
    for (uint32_t i = 0; i < stack->depth; i++) {
        stack->frames[i].mark += ns;
    }
}

/* ---- entering and leaving ---- */

/* Keep what a frame did since it began or was last cut; only while a trace is kept. */
HOTLOOP_COLD static void
core_keep_slice(Core *core, Frame *frame, uint64_t now)
{
    if (core->slice_count == core->slice_room) {
        core->slices_lost++;
        return;
    }
    core->slices[core->slice_count++] =
        (Slice){frame->begin, now, frame->node->id, (uint32_t)frame->gap};
}

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

/* Give a gap's time back to the place around it, which has counted it as elapsed already. */
void
node_move(Node *gap, Node *parent, uint64_t ns)
{
    ns = ns < gap->self_ns ? ns : gap->self_ns;
    gap->self_ns -= ns;
    gap->elapsed_ns -= ns < gap->elapsed_ns ? ns : gap->elapsed_ns;
    parent->self_ns += ns;
}

/* Runs in the main thread, at a bytecode boundary. */
static int
raise_again(void *error)
{
    PyErr_SetObject((PyObject *)Py_TYPE((PyObject *)error), error);
    Py_DECREF((PyObject *)error);
    return -1;
}

/* What only arrived while hotloop's own code ran (Ctrl-C, an exit from a handler) is the program's:
 * it arrives once more, now in its code. */
static void
core_pass_on(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    if (value != NULL && Py_AddPendingCall(raise_again, value) == 0) {
        value = NULL; /* the call has it */
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
        PyObject *answer = PyObject_CallNoArgs(core->on_loop);
        if (answer == NULL && !PyErr_ExceptionMatches(PyExc_Exception)) {
            core_pass_on();
        }
        Py_XDECREF(answer);
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    core->loop_first = core_now(core);
    core->loop_last = core->loop_first;
}

/* A gap on top of the stack ends as anything else begins or ends. Nobody has said yet what it
 * was: until it is claimed, its time is its parent's. */
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
    thread->top = parent;
}

/* The region is entered under another place than last time. */
HOTLOOP_COLD static void
region_find_node(Core *core, Region *region, Node *parent)
{
    region->node = node_child(core, parent, region);
    region->nested = region->node->parent != parent;
    /* A place that could not be made for want of memory is looked for again next time. */
    region->parent = region->node != parent || parent->region == region ? parent : NULL;
}

void
stack_enter(Core *core, Thread *thread, Stack *stack, Region *region)
{
    Region *resume = NULL;
    thread_answer(core, thread);
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
    thread->top = node;
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
        owner->top = stack_top(stack);
    }
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
    thread_answer(core, thread);
    uint64_t now = core_now(core);
    if (core->enabled) {
        thread_charge(thread, now);
    }
    if (stack_in_gap(stack)) {
        thread_end_gap(core, thread, stack, now);
    }
    if (RARELY(stack->depth == 0 || stack->frames[stack->depth - 1].region != region)) {
        region_exit_out_of_order(core, thread, region, now);
        return;
    }
    Frame *frame = &stack->frames[--stack->depth];
    Region *resume = frame->resume;
    frame_close(core, frame, now);
    thread->top = stack_top(stack);
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
