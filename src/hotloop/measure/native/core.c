/* Regions, counters and the tree that they make: the hot path.
 *
 * Time is charged by switching: at every entry and exit, the time since the last one belongs to
 * the place that was on top. So the self times of a thread's places add up to its wall time
 * whatever the program does, out-of-order exits included. `hotloop.measure.twin` is the same in
 * Python; one test suite runs over both. Everything here runs with the GIL held. */

#include "core.h"

static uint64_t core_serials = 0;

/* The last thread found, so that the hot path need not search. Keyed by the core's serial:
 * a core's address may be another's later. */
static HOTLOOP_THREAD_LOCAL struct {
    uint64_t serial;
    Thread *thread;
} found;

/* ---- clock ---- */

HOTLOOP_INLINE uint64_t
core_now(Core *core)
{
    if (core->clock == NULL) {
        return platform_clock_ns();
    }
    PyObject *answer = PyObject_CallNoArgs(core->clock);
    uint64_t now = 0;
    if (answer != NULL) {
        now = PyLong_AsUnsignedLongLong(answer);
        Py_DECREF(answer);
    }
    PyErr_Clear();
    return now;
}

/* ---- histogram ---- */

HOTLOOP_INLINE uint32_t
highest_bit(uint64_t value)
{
#if defined(_MSC_VER)
    unsigned long index;
    _BitScanReverse64(&index, value);
    return (uint32_t)index;
#else
    return 63u - (uint32_t)__builtin_clzll(value);
#endif
}

/* The bucket of a duration: below STEPS nanoseconds one is one nanosecond, all of them in page 0. */
HOTLOOP_INLINE uint32_t
histogram_octave(uint64_t ns, uint32_t *step)
{
    *step = (uint32_t)ns;
    if (ns < STEPS) {
        return 0;
    }
    uint32_t high = highest_bit(ns);
    *step = (uint32_t)(ns >> (high - STEPS_BITS)) & (STEPS - 1);
    return high - STEPS_BITS + 1;
}

static void
node_histogram_add(Node *node, uint64_t ns)
{
    uint32_t step, octave = histogram_octave(ns, &step);
    uint32_t *page = node->histogram[octave];
    if (page == NULL) {
        page = PyMem_RawCalloc(STEPS, sizeof(uint32_t));
        if (page == NULL) {
            return;
        }
        node->histogram[octave] = page;
    }
    page[step]++;
}

/* ---- nodes and edges ---- */

static Node *
node_new(Core *core, Node *parent, Region *region, uint32_t root)
{
    Node *node = PyMem_RawCalloc(1, sizeof(Node));
    if (node == NULL) {
        return NULL;
    }
    node->parent = parent;
    node->region = region;
    node->root = root;
    node->id = core->node_count;
    node->min_ns = UINT64_MAX;
    if (region != NULL) {
        uint32_t aside = (parent->flags | region->flags) & REGION_ASIDE;
        node->flags = aside ? aside : (region->flags & REGION_LOOP);
        node->flags |= region->flags & REGION_SHALLOW;
    }
    core->nodes[core->node_count++] = node;
    return node;
}

HOTLOOP_INLINE uint32_t
edge_slot(Core *core, Node *parent, Region *region)
{
    uintptr_t mixed = ((uintptr_t)parent >> 4) * 31u + ((uintptr_t)region >> 4);
    return (uint32_t)(mixed ^ (mixed >> 15)) & (core->edge_room - 1);
}

static void
edge_put(Core *core, Node *parent, Region *region, Node *node)
{
    uint32_t slot = edge_slot(core, parent, region);
    while (core->edges[slot].node != NULL) {
        slot = (slot + 1) & (core->edge_room - 1);
    }
    core->edges[slot] = (Edge){parent, region, node};
    core->edge_count++;
}

static int
edges_grow(Core *core)
{
    Edge *old = core->edges;
    uint32_t old_room = core->edge_room;
    Edge *bigger = PyMem_RawCalloc((size_t)old_room * 2, sizeof(Edge));
    if (bigger == NULL) {
        return 0;
    }
    core->edges = bigger;
    core->edge_room = old_room * 2;
    core->edge_count = 0;
    for (uint32_t i = 0; i < old_room; i++) {
        if (old[i].node != NULL) {
            edge_put(core, old[i].parent, old[i].region, old[i].node);
        }
    }
    PyMem_RawFree(old);
    return 1;
}

/* The place for a region entered under `parent`, made at the first entry. A region inside itself
 * is the same place: recursion does not deepen the tree. */
static Node *
node_make_child(Core *core, Node *parent, Region *region)
{
    if (core->edge_count * 2 >= core->edge_room && !edges_grow(core)) {
        return parent;
    }
    Node *node = NULL;
    for (Node *up = parent; up != NULL; up = up->parent) {
        if (up->region == region) {
            node = up;
            break;
        }
    }
    if (node == NULL) {
        if (core->node_count >= MAX_NODES) {
            return core->overflow[parent->root];
        }
        node = node_new(core, parent, region, parent->root);
        if (node == NULL) {
            return parent;
        }
    }
    edge_put(core, parent, region, node);
    return node;
}

HOTLOOP_INLINE Node *
node_child(Core *core, Node *parent, Region *region)
{
    uint32_t slot = edge_slot(core, parent, region);
    for (;;) {
        Edge *edge = &core->edges[slot];
        if (edge->parent == parent && edge->region == region) {
            return edge->node;
        }
        if (edge->node == NULL) {
            return node_make_child(core, parent, region);
        }
        slot = (slot + 1) & (core->edge_room - 1);
    }
}

/* ---- threads and their stacks ---- */

static Stack *
stack_new(Thread *thread, PyObject *context, Node *base)
{
    Stack *stack = PyMem_RawCalloc(1, sizeof(Stack));
    if (stack == NULL) {
        return NULL;
    }
    stack->room = 16;
    stack->frames = PyMem_RawMalloc(stack->room * sizeof(Frame));
    if (stack->frames == NULL) {
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
    PyMem_RawFree(stack->frames);
    PyMem_RawFree(stack);
}

static void
thread_free(Thread *thread)
{
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

Thread *
core_thread(Core *core)
{
    if (found.serial == core->serial) {
        return found.thread;
    }
    uint64_t id = PyThreadState_GetID(PyThreadState_Get());
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
    found.serial = core->serial;
    found.thread = thread;
    return thread;
}

/* Another asyncio task (or Context.run) is running than at the last event: its regions are its
 * own, and begin where the thread's first context stands. */
static void
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

HOTLOOP_INLINE Stack *
thread_stack(Thread *thread)
{
    PyObject *context = PyThreadState_Get()->context;
    if (context != thread->stack->context) {
        thread_switch(thread, context);
    }
    return thread->stack;
}

HOTLOOP_INLINE Node *
stack_top(Stack *stack)
{
    return stack->depth ? stack->frames[stack->depth - 1].node : stack->base;
}

HOTLOOP_INLINE void
thread_charge(Thread *thread, uint64_t now)
{
    if (now > thread->last) {
        thread->top->self_ns += now - thread->last;
        thread->last = now;
    }
}

/* Take `ns` out of everything that is open. */
static void
thread_skip(Thread *thread, Stack *stack, uint64_t ns)
{
    thread->last += ns;
    for (uint32_t i = 0; i < stack->depth; i++) {
        stack->frames[i].mark += ns;
    }
}

/* ---- entering and leaving ---- */

HOTLOOP_INLINE void frame_count(Frame *frame, uint64_t now);

/* Keep what a frame did since it began or was last cut; only while a trace is kept. */
static void
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
static void
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
static void
node_move(Node *gap, Node *parent, uint64_t ns)
{
    ns = ns < gap->self_ns ? ns : gap->self_ns;
    gap->self_ns -= ns;
    gap->elapsed_ns -= ns < gap->elapsed_ns ? ns : gap->elapsed_ns;
    parent->self_ns += ns;
}

static void
core_begin_loop(Core *core)
{
    if (core->on_loop != NULL) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyObject *answer = PyObject_CallNoArgs(core->on_loop);
        Py_XDECREF(answer);
        PyErr_Clear();
        PyErr_Restore(type, value, traceback);
    }
    core->loop_first = core_now(core);
    core->loop_last = core->loop_first;
}

/* A gap on top of the stack ends as anything else begins or ends. Nobody has said yet what it
 * was: until it is claimed, its time is its parent's. */
static void
thread_end_gap(Core *core, Thread *thread, Stack *stack, uint64_t now)
{
    Frame *frame = &stack->frames[--stack->depth];
    Node *parent = stack_top(stack);
    if (core->enabled) {
        thread_charge(thread, now);
        frame_count(frame, now);
        if (core->slices != NULL) {
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

HOTLOOP_INLINE int
stack_in_gap(Stack *stack)
{
    return stack->depth && stack->frames[stack->depth - 1].gap;
}

static void
region_enter(Region *region)
{
    Core *core = region->core;
    Thread *thread = core_thread(core);
    if (thread == NULL) {
        return;
    }
    Stack *stack = thread_stack(thread);
    Region *resume = NULL;
    if (stack_in_gap(stack)) {
        if (region->flags & REGION_BESIDE) {
            resume = stack->frames[stack->depth - 1].region;
        }
        thread_end_gap(core, thread, stack, core_now(core));
    }
    if (stack->depth == stack->room) {
        Frame *more = PyMem_RawRealloc(stack->frames, 2 * stack->room * sizeof(Frame));
        if (more == NULL) {
            return;
        }
        stack->frames = more;
        stack->room *= 2;
    }
    Node *parent = stack_top(stack);
    Node *node = node_child(core, parent, region);
    if ((node->flags & REGION_LOOP) && core->loop_first == 0) {
        core_begin_loop(core);
    }
    Frame *frame = &stack->frames[stack->depth++];
    frame->node = node;
    frame->region = region;
    frame->active = 0;
    frame->nested = node->parent != parent;
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

/* Count a frame up to now, and leave it open. */
HOTLOOP_INLINE void
frame_count(Frame *frame, uint64_t now)
{
    if (now > frame->mark) {
        uint64_t part = now - frame->mark;
        frame->active += part;
        frame->mark = now;
        if (!frame->nested) {
            frame->node->elapsed_ns += part;
        }
    }
}

static void
frame_close(Core *core, Frame *frame, uint64_t now)
{
    if (core->enabled) {
        frame_count(frame, now);
        if (core->slices != NULL) {
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
    node_histogram_add(node, duration);
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
static void
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

static void
region_enter_gap(Region *region)
{
    region_enter(region);
    Thread *thread = core_thread(region->core);
    if (thread != NULL && thread->stack->depth) {
        thread->stack->frames[thread->stack->depth - 1].gap = 1;
    }
}

static void
region_exit(Region *region)
{
    Core *core = region->core;
    uint64_t now = core_now(core);
    Thread *thread = core_thread(core);
    if (thread == NULL) {
        return;
    }
    Stack *stack = thread_stack(thread);
    if (core->enabled) {
        thread_charge(thread, now);
    }
    if (stack_in_gap(stack)) {
        thread_end_gap(core, thread, stack, now);
    }
    if (stack->depth == 0 || stack->frames[stack->depth - 1].region != region) {
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
static void
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
static void
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

/* ---- RegionCall: __enter__ and __exit__ without a bound method each time ---- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Region *region;
} RegionCall;

static PyObject *
call_enter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    (void)args, (void)nargsf, (void)names;
    Region *region = ((RegionCall *)self)->region;
    if (region == NULL) {
        Py_RETURN_NONE; /* cleared by the garbage collector */
    }
    if (region->core != NULL && region->core->enabled) {
        region_enter(region);
    }
    Py_INCREF(region);
    return (PyObject *)region;
}

static PyObject *
call_exit(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    (void)args, (void)nargsf, (void)names;
    Region *region = ((RegionCall *)self)->region;
    if (region != NULL && region->core != NULL) {
        region_exit(region);
    }
    Py_RETURN_NONE;
}

static PyObject *
region_call_new(Region *region, vectorcallfunc call)
{
    RegionCall *self = PyObject_GC_New(RegionCall, &RegionCallType);
    if (self == NULL) {
        return NULL;
    }
    self->call = call;
    Py_INCREF(region);
    self->region = region;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int
region_call_traverse(RegionCall *self, visitproc visit, void *arg)
{
    Py_VISIT(self->region);
    return 0;
}

static int
region_call_clear(RegionCall *self)
{
    Py_CLEAR(self->region);
    return 0;
}

static void
region_call_dealloc(RegionCall *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->region);
    PyObject_GC_Del(self);
}

PyTypeObject RegionCallType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.RegionCall",
    .tp_basicsize = sizeof(RegionCall),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(RegionCall, call),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = (traverseproc)region_call_traverse,
    .tp_clear = (inquiry)region_call_clear,
    .tp_dealloc = (destructor)region_call_dealloc,
};

/* The descriptor that hands out a region's ready-made RegionCall. */
typedef struct {
    PyObject_HEAD
    Py_ssize_t offset;
} RegionMethod;

static PyObject *
region_method_get(PyObject *self, PyObject *region, PyObject *type)
{
    (void)type;
    if (region == NULL) {
        Py_INCREF(self);
        return self;
    }
    PyObject *call = *(PyObject **)((char *)region + ((RegionMethod *)self)->offset);
    Py_INCREF(call);
    return call;
}

PyTypeObject RegionMethodType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.RegionMethod",
    .tp_basicsize = sizeof(RegionMethod),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_descr_get = region_method_get,
};

/* Region's attributes: __enter__, __exit__ and their plain names for hooks. */
static int
region_type_add_methods(void)
{
    static const struct {
        const char *name;
        Py_ssize_t offset;
    } methods[] = {
        {"__enter__", offsetof(Region, enter_call)},
        {"__exit__", offsetof(Region, exit_call)},
        {"enter", offsetof(Region, enter_call)},
        {"exit", offsetof(Region, exit_call)},
    };
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        RegionMethod *method = PyObject_New(RegionMethod, &RegionMethodType);
        if (method == NULL) {
            return -1;
        }
        method->offset = methods[i].offset;
        int failed = PyDict_SetItemString(RegionType.tp_dict, methods[i].name, (PyObject *)method);
        Py_DECREF(method);
        if (failed) {
            return -1;
        }
    }
    PyType_Modified(&RegionType);
    return 0;
}

/* ---- Region ---- */

static Region *
region_new(Core *core, PyObject *name, uint32_t flags)
{
    Region *region = PyObject_GC_New(Region, &RegionType);
    if (region == NULL) {
        return NULL;
    }
    Py_XINCREF(core);
    region->core = core;
    Py_INCREF(name);
    region->name = name;
    region->flags = flags;
    region->enter_call = NULL;
    region->exit_call = NULL;
    region->longest_ns = 0;
    PyObject_GC_Track(region);
    region->enter_call = region_call_new(region, call_enter);
    region->exit_call = region_call_new(region, call_exit);
    if (region->enter_call == NULL || region->exit_call == NULL) {
        Py_DECREF(region);
        return NULL;
    }
    return region;
}

static int
region_traverse(Region *self, visitproc visit, void *arg)
{
    Py_VISIT(self->core);
    Py_VISIT(self->enter_call);
    Py_VISIT(self->exit_call);
    return 0;
}

static int
region_clear(Region *self)
{
    Py_CLEAR(self->enter_call);
    Py_CLEAR(self->exit_call);
    Py_CLEAR(self->core);
    return 0;
}

static void
region_dealloc(Region *self)
{
    PyObject_GC_UnTrack(self);
    region_clear(self);
    Py_CLEAR(self->name);
    PyObject_GC_Del(self);
}

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function;
    PyObject *after;
    Region *region;
    int outermost;
    int always;
} Timed;

static PyObject *timed_call(PyObject *, PyObject *const *, size_t, PyObject *);

PyDoc_STRVAR(region_wrap_doc,
"wrap(function, after=None, outermost=False, always=False)\n--\n\n"
"`function` inside this region. `after(result, *args, **kwargs)` runs when it returned, outside\n"
"the region; an error in it is kept in `failures` and `after` is dropped. With `outermost`, a\n"
"call inside this same region is neither timed nor noted again; with `always`, it is noted.");

static PyObject *
region_wrap(Region *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "after", "outermost", "always", NULL};
    PyObject *function, *after = Py_None;
    int outermost = 0, always = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|Opp", names, &function, &after, &outermost,
                                     &always)) {
        return NULL;
    }
    Timed *timed = PyObject_GC_New(Timed, &TimedType);
    if (timed == NULL) {
        return NULL;
    }
    timed->call = timed_call;
    Py_INCREF(function);
    timed->function = function;
    timed->after = after == Py_None ? NULL : after;
    Py_XINCREF(timed->after);
    Py_INCREF(self);
    timed->region = self;
    timed->outermost = outermost;
    timed->always = always;
    PyObject_GC_Track(timed);
    return (PyObject *)timed;
}

static PyObject *
region_repr(Region *self)
{
    return PyUnicode_FromFormat("<Region %R>", self->name);
}

/* A region is found again by its name. */
static PyObject *
region_reduce(Region *self, PyObject *unused)
{
    (void)unused;
    PyObject *core = (PyObject *)self->core;
    PyObject *find = core != NULL ? PyObject_GetAttrString(core, "region") : NULL;
    if (find == NULL) {
        PyErr_SetString(PyExc_TypeError, "a region that is off cannot be pickled");
        return NULL;
    }
    return Py_BuildValue("(N(O))", find, self->name);
}

/* Since the last region ended only a hook has run: that is nobody's time but hotloop's. */
static void
thread_take_own(Core *core)
{
    Thread *thread = core_thread(core);
    uint64_t now = core_now(core);
    if (thread == NULL || now <= thread->last || now - thread->last > MOST_OWN_NS) {
        return;
    }
    Stack *stack = thread_stack(thread);
    uint64_t own = now - thread->last;
    if (!stack_in_gap(stack)) {
        core->own_ns += own;
        thread_skip(thread, stack, own);
    }
}

PyDoc_STRVAR(region_gap_doc,
"gap()\n--\n\n"
"Open until any region of this thread is entered or left, or `Core.end_gap`: for a stretch whose\n"
"ends nobody marks. A gap is not `is_open` and never makes a call a nested one. After a region\n"
"that is no step of the training loop (a line of the log) it goes on. Its time is the gap's only\n"
"once it is claimed (`Core.claim_gap`); the sampler sees it as this region meanwhile.");

static PyObject *
region_gap(Region *self, PyObject *unused)
{
    (void)unused;
    Core *core = self->core;
    if (core != NULL && core->enabled) {
        thread_take_own(core);
        region_enter_gap(self);
        core->gap_parent = NULL;
        core->gap_ns = core->gap_left_ns = 0;
        core->slice_gap = core->slice_count;
    }
    Py_RETURN_NONE;
}

static PyMethodDef region_methods[] = {
    {"gap", (PyCFunction)region_gap, METH_NOARGS, region_gap_doc},
    {"__reduce__", (PyCFunction)region_reduce, METH_NOARGS, NULL},
    {"wrap", (PyCFunction)(void (*)(void))region_wrap, METH_VARARGS | METH_KEYWORDS, region_wrap_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *
region_get_name(Region *self, void *closure)
{
    (void)closure;
    Py_INCREF(self->name);
    return self->name;
}

static PyGetSetDef region_getset[] = {
    {"name", (getter)region_get_name, NULL, "The region's name.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject RegionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Region",
    .tp_doc = "A named stretch of code: a context manager that can be entered any number of times.",
    .tp_basicsize = sizeof(Region),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_methods = region_methods,
    .tp_getset = region_getset,
    .tp_repr = (reprfunc)region_repr,
    .tp_traverse = (traverseproc)region_traverse,
    .tp_clear = (inquiry)region_clear,
    .tp_dealloc = (destructor)region_dealloc,
};

/* ---- Timed: a function inside a region ---- */

static int
core_is_open(Core *core, Region *region)
{
    Thread *thread = core_thread(core);
    if (thread == NULL) {
        return 0;
    }
    Stack *stack = thread_stack(thread);
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    for (uint32_t i = 0; i < depth; i++) {
        if (stack->frames[i].region == region) {
            return 1;
        }
    }
    return 0;
}

static void
core_note_failure(Core *core, PyObject *name)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = value != NULL ? PyObject_Repr(value) : PyUnicode_FromString("unknown error");
    if (text != NULL) {
        PyDict_SetItem(core->failures, name, text);
        Py_DECREF(text);
    }
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

#define AFTER_ARGS 12

static void
timed_after(Timed *self, PyObject *result, PyObject *const *args, size_t nargsf, PyObject *names,
            int timed)
{
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    Py_ssize_t all = nargs + (names != NULL ? PyTuple_GET_SIZE(names) : 0);
    PyObject *few[AFTER_ARGS + 1];
    PyObject **passed = few;
    if (all > AFTER_ARGS) {
        passed = PyMem_Malloc((size_t)(all + 1) * sizeof(PyObject *));
        if (passed == NULL) {
            return;
        }
    }
    passed[0] = result;
    memcpy(passed + 1, args, (size_t)all * sizeof(PyObject *));
    PyObject *after = self->after;
    Py_INCREF(after);
    Core *core = self->region->core;
    Thread *thread = core_thread(core);
    uint64_t last = thread != NULL ? thread->last : 0;
    PyObject *answer = PyObject_Vectorcall(after, passed, (size_t)nargs + 1, names);
    if (timed && thread != NULL && thread->last == last && core->enabled) {
        /* No region since: everything since `last` was the note. */
        uint64_t now = core_now(core);
        core->own_ns += now - last;
        thread_skip(thread, thread_stack(thread), now - last);
    }
    if (answer == NULL) {
        core_note_failure(self->region->core, self->region->name);
        Py_CLEAR(self->after);
    }
    Py_XDECREF(answer);
    Py_DECREF(after);
    if (passed != few) {
        PyMem_Free(passed);
    }
}

static PyObject *
timed_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Timed *self = (Timed *)callable;
    Core *core = self->region->core;
    int nested = self->outermost && core->enabled && core_is_open(core, self->region);
    int timed = core->enabled && !nested;
    if (timed) {
        region_enter(self->region);
    }
    PyObject *result = PyObject_Vectorcall(self->function, args, nargsf, names);
    if (timed && result != NULL) {
        region_exit(self->region);
    }
    else if (timed) {
        /* Leaving may call Python (an injected clock), which must not meet the program's error. */
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        region_exit(self->region);
        PyErr_Restore(type, value, traceback);
    }
    if (result != NULL && self->after != NULL && (timed || self->always)) {
        timed_after(self, result, args, nargsf, names, timed);
    }
    return result;
}

static PyObject *
timed_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, object);
}

/* Everything else about it is the function's: its name, its signature, its documentation. */
static PyObject *
timed_getattr(Timed *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        Py_INCREF(self->function);
        return self->function;
    }
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__reduce__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0) {
        return PyObject_GenericGetAttr((PyObject *)self, name);
    }
    PyObject *value = PyObject_GetAttr(self->function, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return PyObject_GenericGetAttr((PyObject *)self, name);
    }
    return value;
}

static int
timed_setattr(Timed *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(self->function, name, value);
}

static PyObject *
timed_repr(Timed *self)
{
    return PyUnicode_FromFormat("<%R timed as %R>", self->function, self->region->name);
}

static int
timed_traverse(Timed *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->after);
    Py_VISIT(self->region);
    return 0;
}

static int
timed_clear(Timed *self)
{
    Py_CLEAR(self->after);
    return 0;
}

static void
timed_dealloc(Timed *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->after);
    Py_XDECREF(self->region);
    PyObject_GC_Del(self);
}

/* What is pickled is the function: the process that reads it puts on its own hooks. */
static PyObject *
timed_reduce(Timed *self, PyObject *unused)
{
    (void)unused;
    PyObject *module = PyImport_ImportModule("hotloop.measure.pickling");
    if (module == NULL) {
        return NULL;
    }
    PyObject *answer = PyObject_CallMethod(module, "reduce_timed", "OO", self, self->function);
    Py_DECREF(module);
    return answer;
}

static PyMethodDef timed_methods[] = {
    {"__reduce__", (PyCFunction)timed_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject TimedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Timed",
    .tp_basicsize = sizeof(Timed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Timed, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = timed_get,
    .tp_methods = timed_methods,
    .tp_getattro = (getattrofunc)timed_getattr,
    .tp_setattro = (setattrofunc)timed_setattr,
    .tp_repr = (reprfunc)timed_repr,
    .tp_traverse = (traverseproc)timed_traverse,
    .tp_clear = (inquiry)timed_clear,
    .tp_dealloc = (destructor)timed_dealloc,
};

/* ---- Core ---- */

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
    int failed = PyDict_SetItem(core->regions, name, (PyObject *)region);
    Py_DECREF(region);
    return failed ? NULL : region;
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

static PyObject *
core_method_count(Core *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || nargs > 2 || !PyUnicode_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "count(name, n=1): name is a string, n a number");
        return NULL;
    }
    if (!self->enabled) {
        Py_RETURN_NONE;
    }
    PyObject *amount = nargs == 2 ? args[1] : PyLong_FromLong(1);
    if (!PyLong_Check(amount) && !PyFloat_Check(amount)) {
        PyErr_SetString(PyExc_TypeError, "count(name, n=1): n is an int or a float");
        return NULL;
    }
    PyObject *old = PyDict_GetItemWithError(self->counters, args[0]);
    PyObject *sum = NULL;
    if (old != NULL) {
        sum = PyNumber_Add(old, amount);
    }
    else if (!PyErr_Occurred()) {
        Py_INCREF(amount);
        sum = amount;
    }
    int failed = sum == NULL || PyDict_SetItem(self->counters, args[0], sum);
    Py_XDECREF(sum);
    if (!failed && self->watched != NULL) {
        core_watch_count(self, args[0], amount);
        failed = PyErr_Occurred() != NULL;
    }
    if (nargs == 1) {
        Py_DECREF(amount);
    }
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
    Thread *thread = core_thread(self);
    if (thread == NULL) {
        Py_RETURN_NONE;
    }
    Stack *stack = thread_stack(thread);
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    if (depth == 0) {
        Py_RETURN_NONE;
    }
    PyObject *name = stack->frames[depth - 1].region->name;
    Py_INCREF(name);
    return name;
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
"The gap that ended last was that region's: its time, which was its parent's so far, goes there.");

static PyObject *
core_method_claim_gap(Core *self, PyObject *argument)
{
    if (Py_TYPE(argument) != &RegionType || ((Region *)argument)->core != self) {
        PyErr_SetString(PyExc_TypeError, "claim_gap(region): a region of this core");
        return NULL;
    }
    Region *region = (Region *)argument;
    Node *parent = self->gap_parent;
    uint64_t ns = self->gap_ns, left = self->gap_left_ns;
    self->gap_parent = NULL;
    self->gap_ns = self->gap_left_ns = 0;
    if (parent == NULL) {
        Py_RETURN_NONE;
    }
    Node *node = node_child(self, parent, region);
    core_claim_slices(self, NULL, node);
    left = left < parent->self_ns ? left : parent->self_ns;
    parent->self_ns -= left;
    node->self_ns += left;
    if (node->parent == parent) {
        node->elapsed_ns += left;
    }
    node->calls++;
    node_histogram_add(node, ns);
    node->min_ns = ns < node->min_ns ? ns : node->min_ns;
    node->max_ns = ns > node->max_ns ? ns : node->max_ns;
    node->last_ns = core_now(self);
    if (node->first_ns == 0) {
        node->first_ns = node->last_ns - ns;
    }
    if (ns > region->longest_ns) {
        region->longest_ns = ns;
    }
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
    node->calls = node->self_ns = node->elapsed_ns = node->max_ns = 0;
    node->min_ns = UINT64_MAX;
    node->first_ns = node->last_ns = 0;
    node->resident_peak = 0;
    for (uint32_t octave = 0; octave < OCTAVES; octave++) {
        if (node->histogram[octave] != NULL) {
            memset(node->histogram[octave], 0, STEPS * sizeof(uint32_t));
        }
    }
}

/* Threads that have ended since the last look: what they left open is closed. */
static void
core_drop_dead_threads(Core *core, uint64_t now)
{
    Thread **link = &core->threads;
    while (*link != NULL) {
        Thread *thread = *link;
        int alive = thread->root == 0;
        PyThreadState *state = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
        for (; !alive && state != NULL; state = PyThreadState_Next(state)) {
            alive = PyThreadState_GetID(state) == thread->id;
        }
        if (alive) {
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
    PyObject *rows = PyList_New(0);
    if (rows == NULL) {
        return NULL;
    }
    for (uint32_t i = 0; i < self->node_count; i++) {
        Node *node = self->nodes[i];
        if (node->calls == 0 && node->self_ns == 0 && node->elapsed_ns == 0) {
            continue;
        }
        PyObject *row = node_row(node);
        if (row == NULL || PyList_Append(rows, row)) {
            Py_XDECREF(row);
            Py_DECREF(rows);
            return NULL;
        }
        Py_DECREF(row);
        node_forget(node);
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
    self->main_thread = current;
    for (uint32_t i = 0; i < self->node_count; i++) {
        node_forget(self->nodes[i]);
    }
    PyDict_Clear(self->counters);
    self->loop_first = self->loop_last = 0;
    self->slice_count = self->slice_gap = 0;
    self->slices_lost = 0;
    core_skip_open(self, core_now(self));
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
    {"end_gap", (PyCFunction)core_method_end_gap, METH_NOARGS, core_end_gap_doc},
    {"claim_gap", (PyCFunction)core_method_claim_gap, METH_O, core_claim_gap_doc},
    {"snapshot", (PyCFunction)core_method_snapshot, METH_NOARGS, core_snapshot_doc},
    {"nodes", (PyCFunction)core_method_nodes, METH_VARARGS, core_nodes_doc},
    {"after_fork", (PyCFunction)core_method_after_fork, METH_NOARGS, core_after_fork_doc},
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
    if (self->edges == NULL || self->nodes == NULL) {
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
    while (self->threads != NULL) {
        Thread *next = self->threads->next;
        thread_free(self->threads);
        self->threads = next;
    }
    for (uint32_t i = 0; i < self->node_count; i++) {
        for (uint32_t octave = 0; octave < OCTAVES; octave++) {
            PyMem_RawFree(self->nodes[i]->histogram[octave]);
        }
        PyMem_RawFree(self->nodes[i]);
    }
    PyMem_RawFree(self->nodes);
    PyMem_RawFree(self->edges);
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
                             &RegionMethodType, &TimedType,  &SamplerType};
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
        PyModule_AddObjectRef(self, "Sampler", (PyObject *)&SamplerType) < 0) {
        Py_XDECREF(self);
        return NULL;
    }
    return self;
}
