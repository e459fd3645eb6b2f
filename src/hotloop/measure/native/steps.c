/* Steps: the note after the step of an environment or a vector. It counts steps, ended episodes and
 * their returns, and records the event. Steps may take only a few microseconds, so this is in C;
 * `hotloop.hooks.inference.step_results` reads unusual results. */

#include "events.h"
#include "references.h"
#include "returns.h"
#include "timed.h"

/* What changes rarely is inspected in Python, once in this many steps. */
#define INSPECTED 64

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Core *core;
    EventOrder *order; /* gets each step, or NULL */
    Returns *returns;
    Region *evaluate;  /* steps inside it are not part of the training, */
    Region *callback;  /* nor are those that a library's callback makes */
    Region *reset;     /* entered where an episode begins */
    PyObject *outcome; /* result -> (envs, ended, rewards, ends); None if it is no step's */
    PyObject *inspect; /* (result, env, envs, ended) */
    int rewards;       /* where a vector's rewards are in its result; or ONE, or EITHER */
    long long envs;    /* of the step before */
    void *env;
    int repeated;      /* the step before was of the same */
    unsigned calls;
    Counter *env_steps;
    Counter *episodes;
} Steps;

/* One call of `step`, as far as it is understood. */
typedef struct {
    PyObject *result;
    PyObject *env;
    int evaluates; /* it is no part of the training */
    long long envs;
} Step;

/* Instead of an index: one environment, or one or a vector as the result says. */
#define ONE -1
#define EITHER -2

static int
is_array(PyObject *object)
{
    return strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") == 0;
}

#define MOST_PARTS 3 /* rewards, terminated, truncated */

/* An array on the host, as it lies in memory; 0 if Python has to read it. Another kind of array may
 * live on a device; reading it would wait for that. */
static int
view_array(PyObject *array, Py_buffer *view)
{
    if (!is_array(array)) {
        return 0;
    }
    if (PyObject_GetBuffer(array, view, PyBUF_ND | PyBUF_FORMAT) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (view->format == NULL || strlen(view->format) != 1 || view->itemsize <= 0) {
        PyBuffer_Release(view);
        return 0;
    }
    return 1;
}

static double
number_at(const Py_buffer *view, Py_ssize_t i)
{
    switch (view->format[0]) {
    case 'd':
        return ((const double *)view->buf)[i];
    case 'f':
        return ((const float *)view->buf)[i];
    case 'l':
        return (double)((const long *)view->buf)[i];
    default: /* 'i': see `can_read` */
        return ((const int *)view->buf)[i];
    }
}

/* Whether rewards and flags have one plain entry per environment. */
static int
can_read(const Py_buffer *views, int parts, long long envs)
{
    for (int i = 0; i < parts; i++) {
        if (views[i].len / views[i].itemsize != envs ||
            strchr(i == 0 ? "dfli" : "?", views[i].format[0]) == NULL) {
            return 0;
        }
    }
    return 1;
}

/* Adds a vector's rewards; how many of its episodes have ended. */
static long long
add_vector(Steps *self, const Step *step, const Py_buffer *views, int parts)
{
    long long ended = 0;
    const char *first = views[1].buf, *second = views[parts - 1].buf;
    Running *running = returns_running(self->returns, step->env, step->envs, step->evaluates);
    for (Py_ssize_t i = 0; i < step->envs; i++) {
        int over = (first[i] | second[i]) != 0;
        ended += over;
        if (running != NULL) {
            returns_step(self->returns, running, i, number_at(&views[0], i), over);
        }
    }
    return ended;
}

/* How many of a vector's episodes have ended; -1 if Python has to read it. */
static long long
step_vector(Steps *self, const Step *step, PyObject *const *arrays, int parts)
{
    Py_buffer views[MOST_PARTS];
    int held = 0;
    while (held < parts && view_array(arrays[held], &views[held])) {
        held++;
    }
    long long ended = -1;
    if (held == parts && can_read(views, parts, step->envs)) {
        ended = add_vector(self, step, views, parts);
    }
    while (held > 0) {
        PyBuffer_Release(&views[--held]);
    }
    return ended;
}

/* Whether a flag is set; -1 if it is not plain: another object's truth is the program's code, and a
 * tensor's waits for its device. */
static int
plain_truth(PyObject *flag)
{
    if (PyBool_Check(flag)) {
        return flag == Py_True;
    }
    int plain = PyLong_CheckExact(flag) || strncmp(Py_TYPE(flag)->tp_name, "numpy.", 6) == 0;
    return plain ? PyObject_IsTrue(flag) : -1;
}

/* Whether an episode of one environment has ended; -1 if Python has to read it. */
static long long
has_ended(PyObject *result)
{
    int ended = plain_truth(PyTuple_GET_ITEM(result, 2));
    if (ended == 0 && PyTuple_GET_SIZE(result) == 5) {
        ended = plain_truth(PyTuple_GET_ITEM(result, 3));
    }
    return ended;
}

/* Whether it is a vector; -1 where that is not plain. */
static int
is_vector(Steps *self, PyObject *result, Py_ssize_t size)
{
    if (!PyTuple_CheckExact(result) || self->calls == 0) {
        return -1; /* the first time Python finds out whether it is a step at all */
    }
    PyObject *ended = PyTuple_GET_ITEM(result, 2);
    PyObject *cut = size > 3 ? PyTuple_GET_ITEM(result, 3) : Py_None;
    if (PyBool_Check(ended)) {
        return PyBool_Check(cut) == (size == 5) ? 0 : -1;
    }
    int arrays = size > 3 && is_array(PyTuple_GET_ITEM(result, 1)) && is_array(ended);
    return arrays && is_array(cut) == (size == 5) ? 1 : -1;
}

/* Adds the reward of one environment; whether this ended an episode. Some programs continue to step
 * after the end, which is not another end. Where every step is an end, episodes have one step. */
static long long
add_one(Steps *self, const Step *step, double reward, int ended)
{
    Running *running = returns_running(self->returns, step->env, 1, step->evaluates);
    if (running == NULL) {
        return ended;
    }
    uint64_t resets = self->reset->entered;
    int again = running->over && running->continued && running->resets == resets;
    running->over = ended != 0;
    running->continued |= !ended;
    running->resets = resets;
    if (again && ended) {
        return 0;
    }
    returns_step(self->returns, running, 0, reward, ended);
    return ended;
}

/* How many episodes ended; -1 if Python has to read it, maybe with an exception. */
static long long
understand(Steps *self, Step *step)
{
    PyObject *result = step->result;
    Py_ssize_t size = PyTuple_Check(result) ? PyTuple_GET_SIZE(result) : 0;
    if (size > 5 || size < (self->rewards == EITHER ? 3 : 4)) {
        return -1;
    }
    int vector = self->rewards == EITHER ? is_vector(self, result, size) : self->rewards != ONE;
    if (vector < 0) {
        return -1;
    }
    PyObject *const arrays[MOST_PARTS] = {PyTuple_GET_ITEM(result, 1), PyTuple_GET_ITEM(result, 2),
                                          size == 5 ? PyTuple_GET_ITEM(result, 3) : NULL};
    if (vector) {
        step->envs = PyObject_Size(arrays[self->rewards == EITHER ? 1 : 0]);
        return step->envs < 0 ? -1 : step_vector(self, step, arrays, size == 5 ? 3 : 2);
    }
    step->envs = 1;
    double reward;
    int ended = returns_reward(arrays[0], &reward) ? has_ended(result) : -1;
    return ended < 0 ? -1 : add_one(self, step, reward, ended);
}

/* Adds the rewards that Python has read, if it could. */
static long long
add_read(Steps *self, const Step *step, PyObject *rewards, PyObject *ends, long long ended)
{
    int known = PyList_Check(rewards) && PyList_Check(ends) &&
                PyList_GET_SIZE(rewards) == step->envs && PyList_GET_SIZE(ends) == step->envs;
    int single = step->envs == 1 && self->rewards < 0;
    if (!known && !single) {
        return ended;
    }
    for (Py_ssize_t i = 0; i < step->envs; i++) {
        double reward;
        if (!known || !returns_reward(PyList_GET_ITEM(rewards, i), &reward)) {
            reward = Py_NAN;
        }
        if (single) {
            return add_one(self, step, reward, ended != 0);
        }
        Running *running = returns_running(self->returns, step->env, step->envs, step->evaluates);
        if (running != NULL) {
            returns_step(self->returns, running, i, reward, PyList_GET_ITEM(ends, i) == Py_True);
        }
    }
    return ended;
}

/* What Python reads in a result that is not plain; -1 if it is no step's. */
HOTLOOP_COLD static long long
ask_outcome(Steps *self, Step *step)
{
    PyObject *outcome = hidden_call_one(self->outcome, step->result);
    long long ended = -1;
    if (outcome != NULL && PyTuple_Check(outcome) && PyTuple_GET_SIZE(outcome) >= 4) {
        PyObject *ends = PyTuple_GET_ITEM(outcome, 1);
        step->envs = PyLong_AsLongLong(PyTuple_GET_ITEM(outcome, 0));
        ended = ends == Py_None ? 0 : PyLong_AsLongLong(ends);
        if (!PyErr_Occurred()) {
            ended = add_read(self, step, PyTuple_GET_ITEM(outcome, 2), PyTuple_GET_ITEM(outcome, 3),
                             ended);
        }
    }
    Py_XDECREF(outcome);
    if (PyErr_Occurred()) {
        core_settle_error(self->core, self->env_steps->name);
        return -1;
    }
    return ended;
}

/* Episodes have ended: a recorder may have noted their returns under the reward wrappers. */
static void
after_end(Steps *self, const Step *step)
{
    PyObject *result = step->result;
    Py_ssize_t size = PyTuple_Check(result) ? PyTuple_GET_SIZE(result) : 0;
    if (size >= 4) {
        returns_read_info(self->returns, PyTuple_GET_ITEM(result, size - 1), step->evaluates);
    }
    returns_notify(self->returns);
}

static void
inspect(Steps *self, PyObject *result, PyObject *env, long long envs, long long ended)
{
    unsigned turn = self->calls++ % INSPECTED;
    int changed = envs != self->envs || (void *)env != self->env;
    int repeats = !changed && !self->repeated; /* not in turn with others */
    self->repeated = !changed;
    /* A vector begins its next episodes by itself: only the end of a single environment's matters. */
    int over = ended && envs == 1 && self->rewards < 0;
    if (turn > 1 && !changed && !repeats && !over) {
        return;
    }
    self->envs = envs;
    self->env = env;
    PyThreadState *state = hidden_begin();
    PyObject *answer = PyObject_CallFunction(self->inspect, "OOLL", result, env, envs, ended);
    hidden_end(state);
    if (answer == NULL) {
        core_settle_error(self->core, self->env_steps->name);
    }
    Py_XDECREF(answer);
}

static PyObject *
steps_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    (void)names; /* the arguments of a step do not matter */
    Steps *self = (Steps *)callable;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs < 1 || core_is_open(self->core, self->reset)) {
        Py_RETURN_NONE; /* no-op steps at the start of an episode are a part of its reset */
    }
    Step step = {.result = args[0], .env = nargs > 1 ? args[1] : Py_None};
    step.evaluates = core_is_open(self->core, self->evaluate) ||
                     core_is_open(self->core, self->callback);
    long long ended = understand(self, &step);
    if (ended < 0) {
        if (PyErr_Occurred()) {
            core_settle_error(self->core, NULL);
        }
        ended = ask_outcome(self, &step);
        if (ended < 0) {
            Py_RETURN_NONE;
        }
    }
    if (ended > 0) {
        after_end(self, &step);
    }
    if (step.evaluates) {
        Py_RETURN_NONE;
    }
    counter_add(self->core, self->env_steps, step.envs);
    if (ended > 0) {
        counter_add(self->core, self->episodes, ended);
    }
    if (!self->core->resting) {
        inspect(self, step.result, step.env, step.envs, ended);
    }
    if (self->order != NULL) {
        events_stepped(self->order, step.envs);
    }
    Py_RETURN_NONE;
}

void
steps_below(PyObject *note, PyObject *env, PyObject *result)
{
    Steps *self = (Steps *)note;
    if (Py_TYPE(note) != &StepsType || core_is_open(self->core, self->reset)) {
        return; /* no-op steps at the start of an episode */
    }
    int evaluates = core_is_open(self->core, self->evaluate) ||
                    core_is_open(self->core, self->callback);
    returns_below(self->returns, env, result, evaluates);
}

static PyObject *
steps_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *order, *returns, *outcome, *inspect;
    int rewards;
    if (!PARSE(args, kwargs, "O!OO!OOi", &CoreType, &core, &order, &ReturnsType, &returns, &outcome,
               &inspect, &rewards)) {
        return NULL;
    }
    if ((order != Py_None && Py_TYPE(order) != &EventOrderType) || rewards > 3) {
        PyErr_SetString(PyExc_TypeError, "an EventOrder or None, and an index below 4");
        return NULL;
    }
    Steps *self = (Steps *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->call = steps_call;
    self->core = (Core *)Py_NewRef(core);
    self->order = order != Py_None ? (EventOrder *)Py_NewRef(order) : NULL;
    self->returns = (Returns *)Py_NewRef(returns);
    self->outcome = Py_NewRef(outcome);
    self->inspect = Py_NewRef(inspect);
    self->rewards = rewards;
    self->evaluate = core_region_named(self->core, "evaluate");
    self->callback = core_region_named(self->core, "callback");
    self->reset = core_region_named(self->core, "env.reset");
    self->env_steps = core_counter(self->core, "env_steps");
    self->episodes = core_counter(self->core, "episodes");
    if (PyErr_Occurred()) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

NOTHING_ELSE_ENDS(steps)
REFERENCES(steps, offsetof(Steps, outcome), offsetof(Steps, inspect), offsetof(Steps, order),
           offsetof(Steps, returns), offsetof(Steps, core))

PyTypeObject StepsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Steps",
    .tp_doc = "Steps(core, order, returns, outcome, inspect, rewards): the note after a step.",
    .tp_basicsize = sizeof(Steps),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Steps, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = steps_new,
    .tp_traverse = steps_traverse,
    .tp_dealloc = steps_dealloc,
};
