/* Threads, and the stacks of open regions that each of them has: one for each contextvars context, so
 * for each asyncio task. Both are found in constant time however many there are, and are freed once
 * their task or thread has ended. */

#include "core.h"

Found core_found;

/* Room for that many frames, each in a line of a cache of its own; those that were there are kept. */
int
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

/* ---- the stacks of a thread ---- */

static Stack **
stack_chain(Thread *thread, PyObject *context)
{
    uintptr_t mixed = (uintptr_t)context >> 4;
    return &thread->table[(mixed ^ (mixed >> 12)) & (thread->table_room - 1)];
}

/* Room for twice as many stacks in the table; 0 without memory. */
static int
table_grow(Thread *thread)
{
    uint32_t room = thread->table_room ? 2 * thread->table_room : 16;
    Stack **table = PyMem_RawCalloc(room, sizeof(Stack *));
    if (table == NULL) {
        return 0;
    }
    PyMem_RawFree(thread->table);
    thread->table = table;
    thread->table_room = room;
    for (Stack *each = thread->stacks; each != NULL; each = each->next) {
        if (each != thread->first) {
            Stack **chain = stack_chain(thread, each->context);
            each->chain = *chain;
            *chain = each;
        }
    }
    return 1;
}

static Stack *
stack_new(Thread *thread, PyObject *context, Node *base)
{
    if (thread->first != NULL && thread->table_count >= thread->table_room && !table_grow(thread)) {
        return NULL;
    }
    Stack *stack = thread->spare != NULL ? thread->spare : PyMem_RawCalloc(1, sizeof(Stack));
    thread->spare = NULL;
    if (stack == NULL || (stack->room == 0 && !stack_make_room(stack, 16))) {
        PyMem_RawFree(stack);
        return NULL;
    }
    Py_XINCREF(context);
    stack->context = context;
    stack->base = base;
    stack->before = NULL;
    stack->next = thread->stacks;
    if (thread->stacks != NULL) {
        thread->stacks->before = stack;
    }
    thread->stacks = stack;
    if (thread->first == NULL) {
        thread->first = stack;
    }
    else {
        Stack **chain = stack_chain(thread, context);
        stack->chain = *chain;
        *chain = stack;
        thread->table_count++;
    }
    return stack;
}

/* A task has ended, or has nothing open: its stack is made again if it needs one. Returns its
 * context, for the caller to release: that may run Python. */
PyObject *
stack_end(Thread *thread, Stack *stack)
{
    Stack **chain = stack_chain(thread, stack->context);
    while (*chain != stack) {
        chain = &(*chain)->chain;
    }
    *chain = stack->chain;
    thread->table_count--;
    *(stack->before != NULL ? &stack->before->next : &thread->stacks) = stack->next;
    if (stack->next != NULL) {
        stack->next->before = stack->before;
    }
    PyObject *context = stack->context;
    if (thread->spare == NULL && stack->room == 16) {
        thread->spare = stack;
    }
    else {
        PyMem_RawFree(stack->memory);
        PyMem_RawFree(stack);
    }
    return context;
}

/* Another asyncio task (or Context.run) is running than at the last event: its regions are its own,
 * and begin where the thread's first context stands. */
HOTLOOP_COLD void
thread_change_stack(Thread *thread, PyObject *context)
{
    Stack *current = thread->stack, *first = thread->first;
    if (current->context == NULL) {
        /* The thread's first ContextVar was set: the same stack, now with a context object. */
        Py_XINCREF(context);
        current->context = context;
        return;
    }
    Stack *stack = first->context == context ? first : NULL;
    if (stack == NULL && thread->table_count > 0) {
        stack = *stack_chain(thread, context);
        while (stack != NULL && stack->context != context) {
            stack = stack->chain;
        }
    }
    if (stack == NULL) {
        stack = stack_new(thread, context, stack_top(first));
        if (stack == NULL) {
            return;
        }
    }
    thread->stack = stack;
    if (current->depth == 0 && current != first) {
        Py_XDECREF(stack_end(thread, current));
    }
}

void
thread_close(Core *core, Thread *thread, uint64_t now)
{
    for (Stack *stack = thread->stacks; stack != NULL; stack = stack->next) {
        while (stack->depth > 0) {
            frame_close(core, &stack->frames[--stack->depth], now);
        }
    }
}

/* A task whose context only its stack still refers to has ended, and can leave no more regions. */
void
core_drop_dead_stacks(Core *core, uint64_t now)
{
    PyObject *contexts = PyList_New(0);
    for (Thread *thread = core->threads; contexts != NULL && thread != NULL; thread = thread->next) {
        Stack *next;
        for (Stack *stack = thread->stacks; stack != NULL; stack = next) {
            next = stack->next;
            if (stack == thread->first || stack == thread->stack || stack->context == NULL ||
                Py_REFCNT(stack->context) > 1 || PyList_Append(contexts, stack->context) < 0) {
                continue;
            }
            while (stack->depth > 0) {
                frame_close(core, &stack->frames[--stack->depth], now);
            }
            Py_DECREF(stack_end(thread, stack)); /* the list has it */
        }
    }
    Py_XDECREF(contexts); /* may run Python: the last thing */
    PyErr_Clear();
}

/* ---- threads ---- */

Thread **
thread_chain(Core *core, uint64_t ident)
{
    uint64_t mixed = ident >> 6;
    return &core->thread_table[(mixed ^ (mixed >> 8) ^ (mixed >> 16)) % THREAD_CHAINS];
}

static void
stacks_free(Thread *thread)
{
    while (thread->stacks != NULL) {
        Stack *stack = thread->stacks;
        thread->stacks = stack->next;
        Py_XDECREF(stack->context);
        PyMem_RawFree(stack->memory);
        PyMem_RawFree(stack);
    }
    if (thread->spare != NULL) {
        PyMem_RawFree(thread->spare->memory);
        PyMem_RawFree(thread->spare);
    }
    PyMem_RawFree(thread->table);
}

void
core_free_thread(Core *core, Thread *thread)
{
    if (core_found.thread == thread) {
        core_found = (Found){0, 0, NULL};
    }
    Thread **chain = thread_chain(core, thread->ident);
    while (*chain != NULL && *chain != thread) {
        chain = &(*chain)->chain;
    }
    if (*chain != NULL) {
        *chain = thread->chain;
    }
    core->root_threads[thread->root]--;
    stacks_free(thread);
    Py_CLEAR(thread->learning);
    PyMem_RawFree(thread);
}

/* A root for a thread: the first is the main thread's, the last is shared by all that come when
 * every other is taken. */
static uint32_t
core_free_root(Core *core)
{
    uint32_t root = 1;
    while (root < MAX_ROOTS - 1 && core->root_threads[root]) {
        root++;
    }
    return root;
}

static unsigned long
find_main_ident(void)
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
    return main_ident;
}

int
on_main_thread(Core *core)
{
    if (core->main_ident == 0) {
        core->main_ident = find_main_ident();
    }
    return PyThread_get_thread_ident() == core->main_ident;
}

static Thread *
core_add_thread(Core *core, uint64_t id, uint64_t ident)
{
    Thread *thread = PyMem_RawCalloc(1, sizeof(Thread));
    if (thread == NULL) {
        return NULL;
    }
    thread->id = id;
    thread->ident = ident;
    thread->root = on_main_thread(core) ? 0 : core_free_root(core);
    thread_set_top(thread, core->nodes[thread->root]);
    thread->last = core_now(core);
    thread->stack = stack_new(thread, PyThreadState_Get()->context, thread->top);
    if (thread->stack == NULL) {
        PyMem_RawFree(thread);
        return NULL;
    }
    core->root_threads[thread->root]++;
    Thread **chain = thread_chain(core, ident);
    thread->chain = *chain;
    *chain = thread;
    thread->next = core->threads;
    core->threads = thread;
    if (thread->root == 0) {
        core->main_thread = thread;
    }
    return thread;
}

/* The thread that had this record has ended, or has left Python: another begins. */
static void
thread_begin_again(Core *core, Thread *thread, uint64_t id)
{
    uint64_t now = core_now(core);
    thread_close(core, thread, now);
    PyObject *context = thread->first->context;
    thread->first->context = Py_XNewRef(PyThreadState_Get()->context);
    thread->stack = thread->first;
    thread->id = id;
    thread->first->base = core->nodes[thread->root];
    thread_set_top(thread, thread->first->base);
    thread->last = now;
    thread->in_network = thread->in_read = 0;
    thread->counted = NULL;
    Py_CLEAR(thread->learning);
    Py_XDECREF(context);
    while (thread->table_count > 0) {
        Stack *other = thread->stacks != thread->first ? thread->stacks : thread->first->next;
        Py_XDECREF(stack_end(thread, other));
    }
}

HOTLOOP_COLD Thread *
core_find_thread(Core *core, uint64_t id)
{
    uint64_t ident = PyThread_get_thread_ident();
    Thread *thread = *thread_chain(core, ident);
    while (thread != NULL && thread->ident != ident) {
        thread = thread->chain;
    }
    if (thread == NULL) {
        thread = core_add_thread(core, id, ident);
    }
    else if (thread->id != id) {
        thread_begin_again(core, thread, id);
    }
    if (thread != NULL) {
        core_found = (Found){core->serial, id, thread};
    }
    return thread;
}
