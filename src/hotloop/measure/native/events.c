/* EventOrder: the order in which the parts of a training loop happen, and the gaps between them.
 *
 * Between two events, a *gap* is open in the core, under the expected name so that samples see it; the
 * next event decides which region gets the gap's time. This runs after every network call and every
 * environment step, when the code and data of a Python function would have left the CPU's caches.
 * `hotloop.hooks.inference.gaps` has the names of gaps. */

#include "events.h"

void
forecast_learn(Forecast *forecast, int value)
{
    if (value == forecast->expected) {
        forecast->trust += forecast->trust < HYSTERESIS;
    }
    else if (forecast->trust > 0) {
        forecast->trust--;
    }
    else {
        forecast->expected = value;
    }
}

/* ---- names of gaps ---- */

static void
gap_learn(GapForecast *gap, int event)
{
    forecast_learn(&gap->next, event);
    if (gap->regions[gap->next.expected] != NULL) {
        gap->gap = gap->regions[gap->next.expected];
    }
}

/* Calls Python, whose time is hotloop's own; an error is kept in the core's failures and gives
 * NULL. */
static PyObject *
ask(EventOrder *self, PyObject *callback, PyObject *args)
{
    PyObject *answer = NULL;
    Thread *thread = core_thread(self->core);
    uint64_t began = core_now(self->core), last = thread != NULL ? thread->last : 0;
    if (args != NULL && callback != NULL) {
        PyThreadState *state = hidden_begin();
        answer = PyObject_CallObject(callback, args);
        hidden_end(state);
    }
    Py_XDECREF(args);
    if (answer == NULL) {
        core_settle_error(self->core, self->learn->name);
    }
    if (thread != NULL && thread->last == last && self->core->enabled) {
        thread_take_own(self->core, thread, core_now(self->core) - began);
    }
    return answer;
}

/* Without names, where Python failed to give them, the gap has none. */
HOTLOOP_COLD static void
find_regions(EventOrder *self, GapForecast *gap, int event, int circumstances)
{
    memset(gap, 0, sizeof(*gap));
    gap->known = 1;
    PyObject *args = Py_BuildValue("(ii)", event, circumstances);
    PyObject *regions = ask(self, self->gap_regions, args);
    int count = regions != NULL && PyList_Check(regions) ? (int)PyList_GET_SIZE(regions) : 0;
    for (int i = 0; i < count && i < EVENTS; i++) {
        Region *region = (Region *)PyList_GET_ITEM(regions, i);
        if (Py_TYPE(region) == &RegionType && region->core == self->core) {
            gap->regions[i] = region;
            gap->gap = gap->gap != NULL ? gap->gap : region;
        }
    }
    Py_XDECREF(regions);
    gap->next.expected = event == ADD ? STEP : event;
    gap_learn(gap, gap->next.expected);
}

/* By event, circumstances, and whether the rollout (the update) is as long as the one before it:
 * that separates its last step from the others. */
static GapForecast *
find_gap(EventOrder *self, int event, int circumstances, int as_long, int opening)
{
    GapForecast *gap = &self->gaps[(event * CIRCUMSTANCES + circumstances) * 2 + as_long];
    if (!gap->known || opening > gap->opened) {
        find_regions(self, gap, event, circumstances); /* Python notes where it begins */
        gap->opened = (char)opening;
    }
    return gap;
}

/* Python looks at the code between the two events, once for each pair of them, and names it by what
 * it finds. */
HOTLOOP_COLD static void
identify_gap(EventOrder *self, GapForecast *gap, int event)
{
    gap->identified[event] = 1;
    if (self->is_table) {
        return; /* `find_regions` has named it: a table of values has one kind of gap */
    }
    PyObject *args = Py_BuildValue("(iii)", self->last, event, self->circumstances);
    Region *region = (Region *)ask(self, self->identify, args);
    if ((PyObject *)region == Py_None) {
        gap->known = 0; /* where it begins is asked for again */
    }
    if (region != NULL && Py_TYPE(region) == &RegionType && region->core == self->core) {
        gap->gap = gap->gap == gap->regions[event] ? region : gap->gap;
        gap->regions[event] = region;
    }
    Py_XDECREF(region); /* regions live as long as their core */
}

static void
claim_gap(EventOrder *self, Region *region)
{
    if (self->core->gap_parent != NULL) {
        counter_add(self->core, self->gap_ns, (long long)self->core->gap_left_ns);
    }
    core_claim_gap(self->core, region);
}

/* The time of the gap that was open until this event goes to its region. */
static void
close_gap(EventOrder *self, int event, int circumstances)
{
    GapForecast *gap = self->gap, *named = gap;
    if (gap == NULL) {
        return;
    }
    Region *region = NULL;
    if (gap->gap != NULL) {
        if (circumstances == OFF_POLICY && self->circumstances != OFF_POLICY) {
            /* The call that ended the gap shows a replay buffer. */
            named = find_gap(self, self->last, circumstances, 0, 0);
        }
        if (!named->identified[event]) {
            identify_gap(self, named, event);
        }
        region = named->regions[event];
        if (region != NULL) {
            claim_gap(self, region);
        }
    }
    if (!forecast_is_sure(&gap->next, event)) {
        gap_learn(gap, event);
    }
}

/* ---- events ---- */

/* In a library's `learn`, whose table names the rest better: only the loss is inferred. */
void
events_happened_in_learn(EventOrder *self, int event)
{
    if (RARELY(self->core->resting)) {
        return;
    }
    if (self->in_loss) {
        self->in_loss = 0;
        claim_gap(self, self->loss);
    }
    if (event == FORWARD && !self->loss_is_named) {
        self->in_loss = 1;
        if (!self->loss_marked) {
            self->loss_marked = 1;
            Py_XDECREF(ask(self, self->identify, Py_BuildValue("(iii)", FORWARD, BACKWARD, GRADIENTS)));
        }
        region_open_gap(self->loss);
    }
}

/* The training loop runs in the main thread or, while nothing of it happens there (a network alone
 * is not enough), in another thread that steps environments. */
static int
is_training_thread(EventOrder *self, int event)
{
    unsigned long long thread = PyThread_get_thread_ident();
    if (thread == self->thread) {
        self->foreign_steps = 0;
        return 1;
    }
    int trains = event == STEP || event == BACKWARD || event == OPTIMIZER;
    if (thread == self->home ? !trains
                             : event != STEP || ++self->foreign_steps <= FOREIGN_STEPS) {
        return 0;
    }
    self->thread = thread;
    self->foreign_steps = 0;
    self->envs = self->steps = self->steps_before = self->updates = self->updates_before = 0;
    self->active = self->gradients = self->off_policy = 0;
    self->waiting_count = 0;
    self->last = STEP;
    self->gap = NULL;
    return 1;
}

static int
is_in_library(EventOrder *self, Stack *stack, uint32_t depth)
{
    for (uint32_t i = 0; i < depth; i++) {
        for (int j = 0; j < LIBRARY_PHASES; j++) {
            if (stack->frames[i].region == self->library[j]) {
                return 1;
            }
        }
    }
    return 0;
}

/* Whether the rollout or the update is as long as the one before it. */
static int
count_event(EventOrder *self, int event)
{
    if (event <= ACT) {
        return self->steps == self->steps_before;
    }
    if (event == OPTIMIZER) {
        self->updates++;
        return self->updates == self->updates_before;
    }
    if (event == BACKWARD) {
        if (self->steps) {
            self->steps_before = self->steps;
            self->steps = 0;
        }
        calls_decide(self, FORWARD);
    }
    return 0;
}

void
events_happened(EventOrder *self, int event)
{
    if (RARELY(self->core->resting)) {
        return;
    }
    Thread *thread = core_thread(self->core);
    if (thread == NULL) {
        return;
    }
    Stack *stack = thread_stack(thread);
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    if (depth > 0 && stack->frames[depth - 1].region == self->learn) {
        events_happened_in_learn(self, event);
        return;
    }
    if (!is_training_thread(self, event)) {
        return;
    }
    if (self->gap_thread != self->thread) {
        self->gap = NULL; /* opened while the order followed another thread */
    }
    if (is_in_library(self, stack, depth)) {
        self->gap = NULL;
        self->updates += event == OPTIMIZER; /* an update that is one region is still one */
        return;
    }
    self->active = 1;
    int circumstances = self->off_policy ? OFF_POLICY : self->gradients ? GRADIENTS : NO_GRADIENTS;
    close_gap(self, event, circumstances);
    int as_long = count_event(self, event);
    self->last = event;
    self->circumstances = circumstances;
    self->gap = find_gap(self, event, circumstances, as_long, 1);
    self->gap_thread = PyThread_get_thread_ident();
    if (self->gap->gap != NULL) {
        region_open_gap(self->gap->gap);
    }
}

void
events_stepped(EventOrder *self, long long envs)
{
    if (RARELY(self->core->resting)) {
        events_rested(self, STEP, envs);
        return;
    }
    if (!is_training_thread(self, STEP)) {
        return;
    }
    self->envs = envs;
    self->steps++;
    if (!self->active) {
        self->last = STEP;
        return;
    }
    if (self->updates) {
        counter_add(self->core, self->learn_events, 1);
        self->updates_before = self->updates;
        self->updates = 0;
        self->gradients = 0;
    }
    calls_decide(self, ACT);
    events_happened(self, STEP);
}

void
events_rested(EventOrder *self, int event, long long envs)
{
    if (!is_training_thread(self, event)) {
        return;
    }
    if (event == OPTIMIZER) {
        if (self->steps) {
            self->steps_before = self->steps;
            self->steps = 0;
        }
        self->updates++;
        return;
    }
    self->envs = envs;
    self->steps++;
    if (self->updates) {
        counter_add(self->core, self->learn_events, 1);
        self->updates_before = self->updates;
        self->updates = 0;
        self->gradients = 0;
    }
}

void
events_forget_gaps(EventOrder *self)
{
    memset(self->gaps, 0, sizeof(self->gaps));
    self->gap = NULL;
}

/* In a table of values nothing separates the parts between two steps: see `tabular` in Python. */
void
events_learn_inline(EventOrder *self, int is_table)
{
    self->is_table = self->active = (char)is_table;
    events_forget_gaps(self);
}

long long
events_collected(EventOrder *self)
{
    return (self->steps ? self->steps : self->steps_before) * self->envs;
}
