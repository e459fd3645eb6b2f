/* Episodes in progress, by the address of their environment. */

#include <math.h>

#include "returns.h"
#include "timed.h"

/* Environments that are stepped side by side; more than this are not followed. */
#define MOST_RUNNING 16384
#define FIRST_ROOM 64

static size_t
slot_of(uintptr_t key, size_t room)
{
    return (key >> 4 ^ key >> 12 ^ (key & 1)) & (room - 1);
}

Running *
running_find(Running *table, size_t room, uintptr_t key)
{
    size_t slot = slot_of(key, room);
    while (table[slot].key != key && table[slot].key != 0) {
        slot = (slot + 1) & (room - 1);
    }
    return &table[slot];
}

static int
is_idle(Running *running)
{
    return running->many == NULL && running->one.over && !running->outer;
}

/* An environment below wrappers goes with the outermost of them. */
static int
is_gone(Returns *self, Running *running)
{
    Running *outer = running;
    if (running->outer) {
        outer = running_find(self->table, self->room, running->outer);
    }
    return outer->key == 0 || is_idle(outer);
}

void
running_forget(Returns *self)
{
    for (size_t i = 0; i < self->room; i++) {
        PyMem_Free(self->table[i].many);
        PyMem_Free(self->table[i].raw);
    }
    PyMem_Free(self->table);
    self->table = NULL;
    self->room = self->used = 0;
}

/* A table with free slots, without the environments that may be gone: some programs make one per
 * episode. */
HOTLOOP_COLD static int
make_room(Returns *self, size_t more)
{
    size_t live = more, room = FIRST_ROOM;
    for (size_t i = 0; i < self->room; i++) {
        live += self->table[i].key != 0 && !is_gone(self, &self->table[i]);
    }
    if (live > MOST_RUNNING) {
        running_forget(self); /* episodes that are never ended */
        live = more;
    }
    while (room < live * 4) {
        room *= 2;
    }
    Running *table = PyMem_Calloc(room, sizeof(Running));
    if (table == NULL) {
        return 0;
    }
    for (size_t i = 0; i < self->room; i++) {
        Running *each = &self->table[i];
        if (each->key != 0 && !is_gone(self, each)) {
            *running_find(table, room, each->key) = *each;
        }
        else {
            PyMem_Free(each->raw); /* `many` is NULL where an environment is idle */
        }
    }
    PyMem_Free(self->table);
    self->table = table;
    self->room = room;
    self->used = live - more;
    return 1;
}

HOTLOOP_COLD static int
begin_running(Returns *self, Running *running, PyObject *env, Py_ssize_t envs)
{
    PyMem_Free(running->many);
    PyMem_Free(running->raw);
    running->many = NULL;
    running->raw = NULL;
    running->envs = envs;
    running->one = (Episode){0, 0, 0};
    running->over = running->continued = running->lost = 0;
    if (envs != 1) {
        running->many = PyMem_Calloc((size_t)(envs > 0 ? envs : 1), sizeof(Episode));
        if (running->many == NULL) {
            return 0;
        }
    }
    /* May run Python, and so step environments: nothing of the table is held meanwhile. */
    uintptr_t key = running->key;
    PyObject *mode = hidden_call_one(self->autoreset, env);
    long autoreset = mode != NULL ? PyLong_AsLong(mode) : AUTORESET_SAME_STEP;
    Py_XDECREF(mode);
    if (PyErr_Occurred()) {
        core_settle_error(self->core, NULL);
        autoreset = AUTORESET_SAME_STEP;
    }
    running = self->room ? running_find(self->table, self->room, key) : NULL;
    if (running == NULL || running->key != key || running->envs != envs) {
        return 0; /* another thread stepped the same environment as another number of them */
    }
    running->autoreset = (int)autoreset;
    return 1;
}

Running *
returns_running(Returns *self, PyObject *env, Py_ssize_t envs, int evaluates)
{
    uintptr_t key = (uintptr_t)env | (evaluates != 0);
    Running *running = self->room ? running_find(self->table, self->room, key) : NULL;
    if (running == NULL || RARELY(running->key == 0)) {
        if (self->used * 2 >= self->room && !make_room(self, 0)) {
            return NULL;
        }
        running = running_find(self->table, self->room, key);
        *running = (Running){.key = key};
        self->used++;
    }
    if (RARELY(running->outer != 0)) {
        *running = (Running){.key = key}; /* a new one, at the address of one that is gone */
    }
    if (RARELY(running->envs != envs)) {
        if (!begin_running(self, running, env, envs)) {
            return NULL;
        }
        running = running_find(self->table, self->room, key);
    }
    return running;
}

/* ---- environments below the wrappers that change rewards ---- */

int
returns_follow(Returns *self, PyObject *env, PyObject *below, int evaluates)
{
    Py_ssize_t envs = PyList_GET_SIZE(below);
    size_t used = self->used + (size_t)envs + 1;
    if (used * 2 >= self->room && !make_room(self, (size_t)envs + 1)) {
        return -1;
    }
    Running *running = returns_running(self, env, envs, evaluates);
    if (running == NULL || (self->used + (size_t)envs) * 2 >= self->room) {
        return 0; /* Python ran meanwhile: another thread has taken the room */
    }
    Raw *raw = PyMem_Calloc((size_t)envs + 1, sizeof(Raw));
    if (raw == NULL) {
        return -1;
    }
    PyMem_Free(running->raw);
    running->raw = raw;
    running->lost = 0;
    uintptr_t outer = running->key;
    for (Py_ssize_t i = 0; i < envs; i++) {
        uintptr_t key = (uintptr_t)PyList_GET_ITEM(below, i) | (evaluates != 0);
        Running *each = running_find(self->table, self->room, key);
        self->used += each->key == 0;
        PyMem_Free(each->many);
        PyMem_Free(each->raw);
        *each = (Running){.key = key, .outer = outer, .place = i};
    }
    if (!self->core->below) {
        chain_forget(NULL); /* what is followed may be in the middle of a chain of wrappers */
    }
    self->adds_raw[evaluates != 0] = self->core->below = 1;
    return 0;
}

void
returns_below(Returns *self, PyObject *env, PyObject *result, int evaluates)
{
    uintptr_t key = (uintptr_t)env | (evaluates != 0);
    Running *below = self->room ? running_find(self->table, self->room, key) : NULL;
    if (below == NULL || below->key == 0 || below->outer == 0) {
        return;
    }
    Running *outer = running_find(self->table, self->room, below->outer);
    if (outer->key == 0 || outer->raw == NULL || below->place >= outer->envs) {
        return;
    }
    double reward = NAN;
    if (PyTuple_Check(result) && PyTuple_GET_SIZE(result) > 1) {
        returns_reward(PyTuple_GET_ITEM(result, 1), &reward);
    }
    outer->raw[below->place].sum += reward;
    outer->raw[below->place].seen = 1;
}
