/* Episodes in progress, by the address of their environment. */

#include "returns.h"

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
    return running->many == NULL && running->one.over;
}

void
running_forget(Returns *self)
{
    for (size_t i = 0; i < self->room; i++) {
        PyMem_Free(self->table[i].many);
    }
    PyMem_Free(self->table);
    self->table = NULL;
    self->room = self->used = 0;
}

/* A table with free slots, without the environments that may be gone: some programs make one per
 * episode. */
HOTLOOP_COLD static int
make_room(Returns *self)
{
    size_t live = 0, room = FIRST_ROOM;
    for (size_t i = 0; i < self->room; i++) {
        live += self->table[i].key != 0 && !is_idle(&self->table[i]);
    }
    if (live > MOST_RUNNING) {
        running_forget(self); /* episodes that are never ended */
        live = 0;
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
        if (each->key != 0 && !is_idle(each)) {
            *running_find(table, room, each->key) = *each;
        }
    }
    PyMem_Free(self->table);
    self->table = table;
    self->room = room;
    self->used = live;
    return 1;
}

HOTLOOP_COLD static int
begin_running(Returns *self, Running *running, PyObject *env, Py_ssize_t envs)
{
    PyMem_Free(running->many);
    running->many = NULL;
    running->envs = envs;
    running->one = (Episode){0, 0, 0};
    running->over = running->continued = 0;
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
        if (self->used * 2 >= self->room && !make_room(self)) {
            return NULL;
        }
        running = running_find(self->table, self->room, key);
        *running = (Running){.key = key};
        self->used++;
    }
    if (RARELY(running->envs != envs)) {
        if (!begin_running(self, running, env, envs)) {
            return NULL;
        }
        running = running_find(self->table, self->room, key);
    }
    return running;
}
