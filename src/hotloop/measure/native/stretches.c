/* Stretches: after a while, calls are measured in short stretches, and most hooks rest in between.
 *
 * A stretch begins and ends where one region, the *head*, is entered at its usual depth: it is whole
 * iterations of the program's loop. Lengths are counted in entries of the head, never in time, so
 * that every iteration is equally likely to be measured, however long it takes. While hooks
 * rest, the region `(rest)` is open and takes the time; regions that do not rest are measured inside
 * it. `hotloop.measure.stretches` plans, `hotloop.analyze.stretches.resting` scales. */

#include "core_methods.h"
#include "inplace.h"

/* A generator of our own: the program's random numbers stay its own. xorshift64*, by Vigna. */
static uint64_t
next_random(Core *core)
{
    uint64_t x = core->random;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    core->random = x;
    return x * 2685821657736338717u;
}

/* Between half and one and a half times the mean: a program that repeats itself is not always
 * measured at the same point. */
static uint64_t
draw(Core *core, uint64_t mean)
{
    uint64_t drawn = mean / 2 + next_random(core) % (mean + 1);
    return drawn > 0 ? drawn : 1;
}

static int
is_at_head(Core *core, Stack *stack)
{
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    if (!core->resting) {
        return depth == core->head_depth;
    }
    return depth == core->head_depth + 1 && stack->frames[depth - 1].region == core->rest;
}

static void
set_resting(Core *core, int resting)
{
    if (core->resting != resting) {
        core->resting = resting;
        inplace_rest(resting);
        networks_rest(resting);
    }
}

/* The region around the head is left while hooks rest: so is the rest, and the next stretch begins. */
void
stretches_end_rest(Core *core)
{
    region_exit(core->rest);
    set_resting(core, 0);
    core->head_left = core->measured_entries;
}

/* The head is about to be entered. */
void
stretches_tick(Core *core)
{
    PyThreadState *state = PyThreadState_Get();
    Thread *thread = core_thread_of(core, state);
    Stack *stack = thread != NULL ? thread_stack_of(thread, state) : NULL;
    if (stack == NULL || thread->counted != NULL || !is_at_head(core, stack)) {
        return;
    }
    core->head_entries++;
    if (core->head_left > 1) {
        core->head_left--;
        return;
    }
    if (core->resting) {
        stretches_end_rest(core);
    }
    else {
        stack_enter(core, thread, stack, core->rest);
        core->gap_parent = NULL; /* a snapshot may come before the event that would claim it */
        set_resting(core, stack->depth == core->head_depth + 1);
        core->head_left = draw(core, core->rest_entries);
    }
}

/* Measure every call again, from here on. */
void
stretches_stop(Core *core)
{
    core->head = NULL;
    if (core->resting) {
        set_resting(core, 0);
        region_exit(core->rest);
    }
}

/* The next session in this process decides anew which regions rest. */
static void
forget_rested(Core *core)
{
    PyObject *name, *region;
    Py_ssize_t at = 0;
    while (PyDict_Next(core->regions, &at, &name, &region)) {
        ((Region *)region)->flags &= ~REGION_RESTS;
    }
}

const char core_stretches_doc[] = PyDoc_STR(
"stretches(head, depth, measured, rest, rested, counters)\n--\n\n"
"From the next entry of the region `head` on, at that depth of regions, measure `measured` of its\n"
"entries, let `rest` of them go by (about: the number is random), and so on. Regions in `rested`\n"
"are not timed meanwhile, and these counters (a frozenset) not counted. With None as the head,\n"
"every call is measured again.");

PyObject *
core_method_stretches(Core *self, PyObject *args)
{
    PyObject *head, *rested, *counters;
    unsigned int depth;
    unsigned long long measured, rest;
    if (!PyArg_ParseTuple(args, "OIKKO!O!", &head, &depth, &measured, &rest, &PyList_Type, &rested,
                          &PyFrozenSet_Type, &counters)) {
        return NULL;
    }
    PyObject *region = head != Py_None ? PyDict_GetItemWithError(self->regions, head) : NULL;
    if (region == NULL || measured == 0 || rest == 0) {
        stretches_stop(self);
        if (PyErr_Occurred()) {
            return NULL;
        }
        forget_rested(self);
        Py_RETURN_NONE;
    }
    if (self->rest == NULL && (self->rest = core_region_named(self, "(rest)")) == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(rested); i++) {
        PyObject *each = PyDict_GetItemWithError(self->regions, PyList_GET_ITEM(rested, i));
        if (each != NULL) {
            ((Region *)each)->flags |= REGION_RESTS;
        }
        else if (PyErr_Occurred()) {
            return NULL;
        }
    }
    Py_INCREF(counters);
    Py_XSETREF(self->rested_counters, counters);
    self->measured_entries = measured;
    self->rest_entries = rest;
    if (self->head != (Region *)region || self->head_depth != depth) {
        stretches_stop(self);
        self->head_depth = depth;
        self->head_left = measured;
        self->random = self->random != 0 ? self->random : 0x9E3779B97F4A7C15u;
        self->head = (Region *)region;
    }
    Py_RETURN_NONE;
}

/* ---- a call while its hook rests ---- */

/* Hooked functions call each other (wrappers of an environment): only the outermost is counted. */
PyObject *
timed_call_at_rest(Timed *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Core *core = self->region->core;
    Thread *thread = core_thread(core);
    if (thread == NULL || (!self->counts && self->region != core->head)) {
        return timed_pass_on(self, args, nargsf, names);
    }
    Region *outer = thread->counted;
    int nested = self->outermost &&
                 (outer == self->region || stack_has(thread_stack(thread), self->region));
    if (nested && !self->always) {
        return timed_call_inside(self, thread, args, nargsf, names); /* the outer call counts */
    }
    if (RARELY(!self->leads) && self->outermost && !self->always) {
        chain_leads(self);
    }
    thread->counted = self->region;
    PyObject *result = timed_pass_on(self, args, nargsf, names);
    thread = core_thread(core); /* it may have been forgotten meanwhile, and found again */
    if (thread != NULL) {
        thread->counted = outer;
    }
    if (self->region->flags & REGION_LOOP) {
        /* An error of the call must not meet an injected clock. */
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        core->loop_last = core_now(core);
        PyErr_Restore(type, value, traceback);
    }
    if (result != NULL && self->counts && self->after != NULL &&
        timed_after(self, result, args, nargsf, names, 0) < 0) {
        Py_CLEAR(result);
    }
    return result;
}
