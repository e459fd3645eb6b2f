/* Steps: what is noted after an environment, or a vector of them, was stepped. This runs beside
 * steps of a few microseconds; `hotloop.hooks.steps` is the same in Python, and says more. */

#include "order.h"

/* What changes rarely is looked at in Python now and then. */
#define LOOKED_AT 64

/* One of the environments that are stepped in turn. */
typedef struct {
    void *env;
    uint64_t resets; /* of all environments, as its last episode ended */
    int goes_on;     /* it has had a step that ended nothing */
    int over;        /* the last one has ended an episode */
} Played;

/* Environments that are told apart; of two in one place the newer counts. */
#define MOST_PLAYED 64

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Core *core;
    PyObject *order;  /* told of each step; None */
    Region *evaluate; /* steps inside it are not the training's, */
    Region *callback; /* nor are those that a library's callback makes */
    Region *reset;    /* entered where an episode begins */
    PyObject *whole;  /* the note in Python, for results of another kind: (result, env) */
    PyObject *look;   /* what it notes beside counting: (result, env, envs, ended) */
    int rewards;      /* where a vector's rewards are in its result; or ONE, or EITHER */
    long long envs;   /* of the step before */
    void *env;
    int repeated;     /* the step before was of the same */
    Played played[MOST_PLAYED];
    unsigned calls;
    Counter *env_steps;
    Counter *episodes;
} Steps;

/* Instead of a place: one environment, or one or a vector as the result says. */
#define ONE -1
#define EITHER -2

static int
is_array(PyObject *object)
{
    return strcmp(Py_TYPE(object)->tp_name, "numpy.ndarray") == 0;
}

/* How many of a vector's episodes have ended; -1 if only Python can tell. */
static long long
ended_of(PyObject *terminated, PyObject *truncated)
{
    PyObject *flags[2] = {terminated, truncated};
    Py_buffer views[2];
    int held = 0;
    long long ended = -1;
    for (; held < 2 && flags[held] != NULL; held++) {
        /* Another kind of array may live on a device, which a look would wait for. */
        if (!is_array(flags[held])) {
            goto done;
        }
        if (PyObject_GetBuffer(flags[held], &views[held], PyBUF_ND | PyBUF_FORMAT) < 0) {
            PyErr_Clear();
            goto done;
        }
        if (views[held].format == NULL || strcmp(views[held].format, "?") != 0 ||
            views[held].len != views[0].len) {
            held++;
            goto done;
        }
    }
    ended = 0;
    const char *first = views[0].buf, *second = held == 2 ? views[1].buf : views[0].buf;
    for (Py_ssize_t i = 0; i < views[0].len; i++) {
        ended += (first[i] | second[i]) != 0;
    }
done:
    while (held > 0) {
        PyBuffer_Release(&views[--held]);
    }
    return ended;
}

/* Whether an episode of one environment has ended; -1 with an exception. */
static long long
has_ended(PyObject *result)
{
    int ended = PyObject_IsTrue(PyTuple_GET_ITEM(result, 2));
    if (ended == 0 && PyTuple_GET_SIZE(result) == 5) {
        ended = PyObject_IsTrue(PyTuple_GET_ITEM(result, 3));
    }
    return ended;
}

/* One environment or a vector? Only what cannot be anything else is told here: -1. */
static int
is_vector(Steps *self, PyObject *result, Py_ssize_t size)
{
    if (!PyTuple_CheckExact(result) || self->calls == 0) {
        return -1; /* the first time Python sees whether it is a step at all */
    }
    PyObject *ended = PyTuple_GET_ITEM(result, 2);
    PyObject *cut = size > 3 ? PyTuple_GET_ITEM(result, 3) : Py_None;
    if (PyBool_Check(ended)) {
        return PyBool_Check(cut) == (size == 5) ? 0 : -1;
    }
    int arrays = size > 3 && is_array(PyTuple_GET_ITEM(result, 1)) && is_array(ended);
    return arrays && is_array(cut) == (size == 5) ? 1 : -1;
}

/* How many episodes ended; -1 if only Python can tell. */
static long long
understand(Steps *self, PyObject *result, long long *envs)
{
    Py_ssize_t size = PyTuple_Check(result) ? PyTuple_GET_SIZE(result) : 0;
    if (size > 5 || size < (self->rewards == EITHER ? 3 : 4)) {
        return -1;
    }
    int vector = self->rewards == EITHER ? is_vector(self, result, size) : self->rewards != ONE;
    if (vector < 0) {
        return -1;
    }
    *envs = 1;
    if (!vector) {
        return has_ended(result);
    }
    *envs = PyObject_Size(PyTuple_GET_ITEM(result, self->rewards == EITHER ? 2 : self->rewards));
    if (*envs < 0) {
        return -1;
    }
    return ended_of(PyTuple_GET_ITEM(result, 2), size == 5 ? PyTuple_GET_ITEM(result, 3) : NULL);
}

/* Some programs step on after the end of an episode, which is no other end. Where every step is one,
 * episodes are of one step. */
static long long
newly_ended(Steps *self, PyObject *env, long long ended)
{
    Played *played = &self->played[((uintptr_t)env >> 5 ^ (uintptr_t)env >> 11) % MOST_PLAYED];
    if (played->env != (void *)env) {
        *played = (Played){env, 0, 0, 0};
    }
    uint64_t resets = self->reset->entered;
    int again = played->over && played->goes_on && played->resets == resets;
    played->over = ended != 0;
    played->goes_on |= !ended;
    played->resets = resets;
    return again ? 0 : ended;
}

static int
count(Steps *self, long long envs, long long ended)
{
    if (counter_add(self->core, self->env_steps, envs) < 0) {
        return -1;
    }
    return ended > 0 ? counter_add(self->core, self->episodes, ended) : 0;
}

static int
look(Steps *self, PyObject *result, PyObject *env, long long envs, long long ended)
{
    unsigned often = self->calls++ % LOOKED_AT;
    int changed = envs != self->envs || (void *)env != self->env;
    int repeats = !changed && !self->repeated; /* not in turn with others */
    self->repeated = !changed;
    /* A vector begins its next episodes by itself: only the end of one environment's says more. */
    int over = ended && envs == 1 && self->rewards < 0;
    if (often > 1 && !changed && !repeats && !over) {
        return 0;
    }
    self->envs = envs;
    self->env = env;
    PyObject *answer = PyObject_CallFunction(self->look, "OOLL", result, env, envs, ended);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static PyObject *
steps_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    (void)names; /* what a step was called with does not matter */
    Steps *self = (Steps *)callable;
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    if (nargs < 1) {
        PyErr_SetString(PyExc_TypeError, "a result, and what was stepped");
        return NULL;
    }
    PyObject *result = args[0], *env = nargs > 1 ? args[1] : Py_None;
    if (core_is_open(self->core, self->evaluate) || core_is_open(self->core, self->callback)) {
        Py_RETURN_NONE;
    }
    long long envs, ended = understand(self, result, &envs);
    if (ended < 0) {
        if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL; /* it only happened to arrive here */
        }
        PyErr_Clear();
        self->calls++;
        return PyObject_CallFunctionObjArgs(self->whole, result, env, NULL);
    }
    if (envs == 1 && self->rewards < 0) {
        ended = newly_ended(self, env, ended);
    }
    if (count(self, envs, ended) < 0 || look(self, result, env, envs, ended) < 0) {
        return NULL;
    }
    if (self->order != Py_None && order_step((Order *)self->order, envs) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

static PyObject *
steps_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *order, *evaluate, *callback, *reset, *whole, *look_at;
    int rewards;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!OO!O!O!OOi", &CoreType, &core, &order, &RegionType, &evaluate,
                          &RegionType, &callback, &RegionType, &reset, &whole, &look_at,
                          &rewards)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Steps takes no keywords");
        }
        return NULL;
    }
    if ((order != Py_None && Py_TYPE(order) != &OrderType) || rewards > 3 ||
        ((Region *)evaluate)->core != (Core *)core ||
        ((Region *)callback)->core != (Core *)core || ((Region *)reset)->core != (Core *)core) {
        PyErr_SetString(PyExc_TypeError, "an Order or None, a region of the core, a place below 4");
        return NULL;
    }
    Counter *env_steps = core_counter((Core *)core, "env_steps");
    Counter *episodes = core_counter((Core *)core, "episodes");
    if (env_steps == NULL || episodes == NULL) {
        return NULL;
    }
    Steps *self = (Steps *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(core);
    Py_INCREF(order);
    Py_INCREF(evaluate);
    Py_INCREF(callback);
    Py_INCREF(reset);
    Py_INCREF(whole);
    Py_INCREF(look_at);
    self->call = steps_call;
    self->core = (Core *)core;
    self->order = order;
    self->evaluate = (Region *)evaluate;
    self->callback = (Region *)callback;
    self->reset = (Region *)reset;
    self->whole = whole;
    self->look = look_at;
    self->rewards = rewards;
    self->env_steps = env_steps;
    self->episodes = episodes;
    return (PyObject *)self;
}

static int
steps_traverse(Steps *self, visitproc visit, void *arg)
{
    Py_VISIT(self->core);
    Py_VISIT(self->order);
    Py_VISIT(self->evaluate);
    Py_VISIT(self->callback);
    Py_VISIT(self->reset);
    Py_VISIT(self->whole);
    Py_VISIT(self->look);
    return 0;
}

static void
steps_dealloc(Steps *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->core);
    Py_XDECREF(self->order);
    Py_XDECREF(self->evaluate);
    Py_XDECREF(self->callback);
    Py_XDECREF(self->reset);
    Py_XDECREF(self->whole);
    Py_XDECREF(self->look);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyTypeObject StepsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Steps",
    .tp_doc = "Steps(core, order, evaluate, callback, reset, whole, look, rewards): see hotloop.hooks.steps.",
    .tp_basicsize = sizeof(Steps),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Steps, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = steps_new,
    .tp_traverse = (traverseproc)steps_traverse,
    .tp_dealloc = (destructor)steps_dealloc,
};
