/* Returns: the sum of rewards over each episode, kept per environment.
 *
 * Every step of every environment passes through here, and steps may take only a few microseconds: so
 * there is one addition per environment, and no Python. Ended episodes go to a distribution of constant
 * size, which each window takes. */

#include <math.h>

#include "distribution.h"
#include "references.h"
#include "returns.h"

/* ---- episodes that ended ---- */

static double
recent_mean(Returns *self)
{
    int count = self->recorded < RECENT ? (int)self->recorded : RECENT;
    double sum = 0;
    for (int i = 0; i < count; i++) {
        sum += self->recent[i];
    }
    return count > 0 ? sum / count : 0.0;
}

static void
recent_add(Returns *self, double value)
{
    self->recent[self->recorded++ % RECENT] = value;
    if (self->recorded < RECENT) {
        return;
    }
    double mean = recent_mean(self);
    if (mean > self->best || self->recorded == RECENT) {
        self->best = mean;
        self->best_ns = core_now(self->core);
    }
}

static void
episode_ended(Returns *self, int kind, double value, long long length)
{
    distribution_add(&self->kinds[kind], value, length);
    int raw = kind == TRAINING_RAW;
    if (!isfinite(value) || (kind != TRAINING && !raw) || (self->raw && !raw)) {
        return;
    }
    if (raw && !self->raw) { /* from now on the better source */
        self->raw = 1;
        self->recorded = 0;
    }
    recent_add(self, value);
}

/* ---- steps ---- */

/* An episode has ended whose rewards are added up below the wrappers as well. If no step was seen there,
 * this environment has the address of one that is gone, or wraps another one than before. */
static void
raw_ended(Returns *self, Running *running, Py_ssize_t index, long long length)
{
    Raw ended = running->raw[index];
    running->raw[index] = (Raw){0, 0};
    if (ended.seen && self->core->enabled) {
        episode_ended(self, TRAINING_RAW + (int)(running->key & 1), ended.sum, length);
    }
    else if (!ended.seen && running->many == NULL) {
        PyMem_Free(running->raw);
        running->raw = NULL;
        running->lost = 1;
    }
}

void
returns_step(Returns *self, Running *running, Py_ssize_t index, double reward, int ended)
{
    if (RARELY(index >= running->envs)) {
        return;
    }
    Episode *episode = running->many != NULL ? &running->many[index] : &running->one;
    if (episode->over) {
        if (running->autoreset == AUTORESET_DISABLED) {
            return;
        }
        *episode = (Episode){0, 0, 0};
        if (running->autoreset == AUTORESET_NEXT_STEP) {
            return;
        }
    }
    episode->sum += reward;
    episode->length++;
    if (ended) {
        episode->over = 1;
        int kind = (int)(running->key & 1);
        if (self->core->enabled) {
            episode_ended(self, kind, episode->sum, episode->length);
        }
        if (RARELY(running->raw != NULL)) {
            raw_ended(self, running, index, episode->length);
        }
    }
}

int
returns_reward(PyObject *reward, double *value)
{
    if (PyFloat_Check(reward)) {
        *value = PyFloat_AS_DOUBLE(reward);
        return 1;
    }
    const char *name = Py_TYPE(reward)->tp_name;
    if (PyLong_Check(reward)) {
        *value = PyLong_AsDouble(reward);
    }
    else if (strncmp(name, "numpy.float", 11) == 0 || strncmp(name, "numpy.int", 9) == 0) {
        *value = PyFloat_AsDouble(reward);
    }
    else {
        return 0;
    }
    if (PyErr_Occurred()) { /* larger than any float */
        PyErr_Clear();
        *value = NAN;
    }
    return 1;
}

static int
returns_end_pair(Returns *self, PyObject *pair, int kind)
{
    double value;
    long long length;
    if (!PyArg_ParseTuple(pair, "dL", &value, &length)) {
        return -1;
    }
    episode_ended(self, kind, value, length);
    return 0;
}

static PyObject *episode_name, *final_info_name, *return_name, *length_name;

static int
intern_names(void)
{
    episode_name = PyUnicode_InternFromString("episode");
    final_info_name = PyUnicode_InternFromString("final_info");
    return_name = PyUnicode_InternFromString("r");
    length_name = PyUnicode_InternFromString("l");
    return episode_name != NULL && final_info_name != NULL && return_name != NULL &&
           length_name != NULL;
}

/* Adds what a recorder noted in the `info` of one environment, or of each in a list, as far as it is
 * plain: most programs have no recorder, or `Monitor`. 0 where Python has to read it; then nothing was
 * added, which is why a list is read twice. */
static int
read_plain(Returns *self, PyObject *info, int kind, int adds)
{
    if (!PyDict_CheckExact(info)) {
        int plain = PyList_CheckExact(info) || PyTuple_CheckExact(info);
        for (Py_ssize_t i = 0; plain && i < PySequence_Fast_GET_SIZE(info); i++) {
            PyObject *each = PySequence_Fast_GET_ITEM(info, i);
            plain = PyDict_CheckExact(each) && read_plain(self, each, kind, adds);
        }
        return plain;
    }
    PyObject *found = PyDict_GetItemWithError(info, episode_name);
    if (found == NULL) {
        return PyDict_GetItemWithError(info, final_info_name) == NULL;
    }
    PyObject *value = PyDict_CheckExact(found) ? PyDict_GetItemWithError(found, return_name) : NULL;
    PyObject *length = value != NULL ? PyDict_GetItemWithError(found, length_name) : NULL;
    if (length == NULL || !PyFloat_CheckExact(value) || !PyLong_CheckExact(length)) {
        return 0;
    }
    if (adds) {
        episode_ended(self, kind, PyFloat_AS_DOUBLE(value), PyLong_AsLongLong(length));
    }
    return 1;
}

HOTLOOP_COLD void
returns_read_info(Returns *self, PyObject *info, int evaluates)
{
    int kind = evaluates ? EVALUATION_RAW : TRAINING_RAW;
    if (self->adds_raw[evaluates != 0]) {
        return;
    }
    if (read_plain(self, info, kind, 0)) {
        if (self->core->enabled) {
            read_plain(self, info, kind, 1);
        }
        core_settle_error(self->core, NULL);
        return;
    }
    PyErr_Clear(); /* of a key that cannot be compared */
    PyObject *ended = hidden_call_one(self->read_info, info);
    if (ended != NULL && PyList_Check(ended) && self->core->enabled) {
        for (Py_ssize_t i = 0; i < PyList_GET_SIZE(ended) && !PyErr_Occurred(); i++) {
            PyObject *pair = PyList_GET_ITEM(ended, i);
            if (PyTuple_Check(pair)) {
                returns_end_pair(self, pair, kind);
            }
        }
    }
    Py_XDECREF(ended);
    if (PyErr_Occurred()) {
        core_settle_error(self->core, NULL);
    }
}

HOTLOOP_COLD void
returns_notify(Returns *self)
{
    if (self->reached == NULL || self->recorded < RECENT || !(self->best >= self->target)) {
        return;
    }
    PyObject *call = self->reached;
    self->reached = NULL;
    PyObject *answer = hidden_call_none(call);
    if (answer == NULL) {
        core_settle_error(self->core, NULL);
    }
    Py_XDECREF(answer);
    Py_DECREF(call);
}

/* ---- what Python calls ---- */

/* An entry of a list as a number, NaN if it is none; -1 with an exception. */
static int
number_at(PyObject *values, Py_ssize_t index, double *number)
{
    PyObject *item = PyList_GetItem(values, index);
    if (item == NULL) {
        return -1;
    }
    if (!returns_reward(item, number)) {
        *number = NAN;
    }
    return 0;
}

static PyObject *
method_step(Returns *self, PyObject *args)
{
    PyObject *env, *rewards, *ends, *indices;
    Py_ssize_t envs;
    int evaluates;
    if (!PyArg_ParseTuple(args, "OnO!O!Op", &env, &envs, &PyList_Type, &rewards, &PyList_Type, &ends,
                          &indices, &evaluates)) {
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(rewards);
    Running *running = returns_running(self, env, envs, evaluates);
    if (running == NULL) {
        return PyErr_NoMemory();
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        double reward, ended, index = (double)i;
        if (number_at(rewards, i, &reward) < 0 || number_at(ends, i, &ended) < 0 ||
            (indices != Py_None && number_at(indices, i, &index) < 0)) {
            return NULL;
        }
        if (!(index >= 0 && index < (double)envs)) {
            PyErr_SetString(PyExc_IndexError, "no such environment");
            return NULL;
        }
        returns_step(self, running, (Py_ssize_t)index, reward, ended != 0);
    }
    returns_notify(self);
    Py_RETURN_NONE;
}

static PyObject *
method_ended(Returns *self, PyObject *args)
{
    int kind;
    double value;
    long long length;
    if (!PyArg_ParseTuple(args, "idL", &kind, &value, &length)) {
        return NULL;
    }
    if (kind < 0 || kind >= EPISODE_KINDS) {
        PyErr_SetString(PyExc_ValueError, "no such kind of episode");
        return NULL;
    }
    if (self->core->enabled) {
        episode_ended(self, kind, value, length);
        returns_notify(self);
    }
    Py_RETURN_NONE;
}

static PyObject *
method_follow(Returns *self, PyObject *args)
{
    PyObject *env, *below;
    int evaluates;
    if (!PyArg_ParseTuple(args, "OO!p", &env, &PyList_Type, &below, &evaluates)) {
        return NULL;
    }
    if (returns_follow(self, env, below, evaluates) < 0) {
        return PyErr_NoMemory();
    }
    Py_RETURN_NONE;
}

static PyObject *
method_take(Returns *self, PyObject *unused)
{
    (void)unused;
    PyObject *taken = PyDict_New();
    for (int kind = 0; kind < EPISODE_KINDS && taken != NULL; kind++) {
        Distribution *each = &self->kinds[kind];
        if (each->episodes == 0 && each->unknown == 0) {
            continue;
        }
        PyObject *row = distribution_row(each), *key = PyLong_FromLong(kind);
        if (row == NULL || key == NULL || PyDict_SetItem(taken, key, row) < 0) {
            Py_CLEAR(taken);
        }
        Py_XDECREF(row);
        Py_XDECREF(key);
        *each = (Distribution){0};
    }
    return taken;
}

static PyObject *
method_recent(Returns *self, PyObject *unused)
{
    (void)unused;
    if (self->recorded < FEWEST_RECENT) {
        Py_RETURN_NONE;
    }
    if (self->recorded < RECENT) {
        return Py_BuildValue("(dOO)", recent_mean(self), Py_None, Py_None);
    }
    return Py_BuildValue("(ddK)", recent_mean(self), self->best, (unsigned long long)self->best_ns);
}

static PyObject *
method_start_over(Returns *self, PyObject *unused)
{
    (void)unused;
    running_forget(self);
    memset(self->kinds, 0, sizeof(self->kinds));
    self->recorded = self->raw = 0;
    Py_RETURN_NONE;
}

static PyObject *
method_watch(Returns *self, PyObject *args)
{
    double target;
    PyObject *reached;
    if (!PyArg_ParseTuple(args, "dO", &target, &reached)) {
        return NULL;
    }
    self->target = target;
    Py_XSETREF(self->reached, Py_NewRef(reached));
    Py_RETURN_NONE;
}

static PyMethodDef returns_methods[] = {
    {"step", (PyCFunction)method_step, METH_VARARGS,
     PyDoc_STR("step(env, envs, rewards, ends, indices, evaluates): some of its environments made a "
               "step; lists of numbers, `indices` may be None.")},
    {"ended", (PyCFunction)method_ended, METH_VARARGS,
     PyDoc_STR("ended(kind, value, length): an episode that a library added up.")},
    {"was_reset", (PyCFunction)returns_was_reset, METH_VARARGS,
     PyDoc_STR("was_reset(env, partly, evaluates): its episodes begin anew, or those that ended; "
               "whether it was known.")},
    {"after_reset", (PyCFunction)(void (*)(void))returns_after_reset, METH_FASTCALL | METH_KEYWORDS,
     PyDoc_STR("after_reset(result, env=None, *_, **__): a note after `reset` of one environment.")},
    {"inspect_resets", (PyCFunction)returns_inspect_resets, METH_VARARGS,
     PyDoc_STR("inspect_resets(first, call): call `first` after a reset of an environment that has "
               "not been stepped, and `call` with (result, env, passed) after the next reset, where "
               "`passed` were passed over. It returns how many of this environment's next ones "
               "to pass over, or None for an environment that does not matter.")},
    {"follow", (PyCFunction)method_follow, METH_VARARGS,
     PyDoc_STR("follow(env, below, evaluates): add up the rewards of what lies below its wrappers, "
               "one for each of its environments, which are at the beginning of an episode.")},
    {"take", (PyCFunction)method_take, METH_NOARGS,
     PyDoc_STR("take(): kind -> row of what ended since the last call.")},
    {"recent", (PyCFunction)method_recent, METH_NOARGS,
     PyDoc_STR("recent(): (mean return of the last training episodes, its highest value, when in "
               "ns); the latter two are None before 100 episodes, all while there are few.")},
    {"watch", (PyCFunction)method_watch, METH_VARARGS,
     PyDoc_STR("watch(target, reached): call once as that mean reaches the target.")},
    {"start_over", (PyCFunction)method_start_over, METH_NOARGS,
     PyDoc_STR("start_over(): forget everything, as after a fork.")},
    {NULL, NULL, 0, NULL},
};

static PyObject *
returns_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *autoreset, *read_info;
    if (!PARSE(args, kwargs, "O!OO", &CoreType, &core, &autoreset, &read_info)) {
        return NULL;
    }
    Returns *self = (Returns *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->core = (Core *)Py_NewRef(core);
    self->autoreset = Py_NewRef(autoreset);
    self->read_info = Py_NewRef(read_info);
    self->target = NAN;
    self->evaluate = core_region_named(self->core, "evaluate");
    self->callback = core_region_named(self->core, "callback");
    self->step = core_region_named(self->core, "env.step");
    if (PyErr_Occurred() || !intern_names()) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
returns_end(PyObject *self)
{
    running_forget((Returns *)self);
}

REFERENCES(returns, offsetof(Returns, autoreset), offsetof(Returns, read_info),
           offsetof(Returns, inspect_reset), offsetof(Returns, first_reset), offsetof(Returns, reached), offsetof(Returns, core))

PyTypeObject ReturnsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Returns",
    .tp_doc = "Returns(core, autoreset, read_info): returns and lengths of episodes.",
    .tp_basicsize = sizeof(Returns),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_methods = returns_methods,
    .tp_new = returns_new,
    .tp_traverse = returns_traverse,
    .tp_dealloc = returns_dealloc,
};
