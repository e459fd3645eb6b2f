/* Decides whether a network call chooses an action or learns.
 *
 * Inside a library's `learn` it learns, and inside its `collect` it acts. In a plain loop, an earlier
 * call of the same kind decides: if an environment step followed it, it acts; if a backward pass did,
 * it learns. A call without an earlier one acts if, outside an update, its batch has one entry per
 * environment. Without gradients, a network that has acted also acts at the end of a rollout, where it
 * estimates the value of the last observation. If no environment has stepped, a call with gradients
 * learns, and so does one without gradients on a batch of the same size (a target network). Nothing
 * shows the purpose of any other call. */

#include "events.h"

/* Most programs make a few kinds of calls: these fit on one page of memory. */
#define FIRST_ROOM 64
/* Instead of an event or a batch size: entries for all of them. */
#define ANY -1

static void
forget_calls(EventOrder *self)
{
    memset(self->calls, 0, self->call_room * sizeof(NetworkCall));
    self->call_count = self->waiting_count = 0;
    self->actors = 0;
}

/* The entry of a call, or the free one where it belongs. */
static NetworkCall *
find_call(EventOrder *self, const NetworkCall *key)
{
    uintptr_t mixed = ((uintptr_t)key->network >> 4) * 31u + (uintptr_t)key->batch_size * 131u +
                      (uintptr_t)(key->gradients * 17 + key->before);
    for (uint32_t slot = (uint32_t)(mixed ^ (mixed >> 13));; slot++) {
        NetworkCall *call = &self->calls[slot & (self->call_room - 1)];
        if (call->network == NULL ||
            (call->network == key->network && call->batch_size == key->batch_size &&
             call->gradients == key->gradients && call->before == key->before)) {
            return call;
        }
    }
}

/* A table with twice the room, or the first one. 0 without memory: then the table stays. */
HOTLOOP_COLD static int
grow_calls(EventOrder *self)
{
    NetworkCall *old = self->calls;
    uint32_t old_room = self->call_room, room = old != NULL ? 2 * old_room : FIRST_ROOM;
    NetworkCall *bigger = PyMem_RawCalloc(room, sizeof(NetworkCall));
    if (bigger == NULL) {
        return 0;
    }
    self->calls = bigger;
    self->call_room = room;
    for (uint32_t i = 0; i < old_room; i++) {
        if (old[i].network != NULL) {
            *find_call(self, &old[i]) = old[i];
        }
    }
    for (uint32_t i = 0; i < self->waiting_count; i++) {
        self->waiting[i] = (uint32_t)(find_call(self, &old[self->waiting[i]]) - bigger);
    }
    PyMem_RawFree(old);
    return 1;
}

static NetworkCall *
keep_call(EventOrder *self, const NetworkCall *key, int purpose)
{
    NetworkCall *call = find_call(self, key);
    if (call->network == NULL) {
        if (2 * self->call_count >= self->call_room) {
            if (self->call_count >= MOST_CALLS || !grow_calls(self)) {
                forget_calls(self);
            }
            call = find_call(self, key);
        }
        self->call_count++;
        *call = *key;
        call->purpose = (Forecast){purpose, 0};
    }
    return call;
}

static int
is_actor(EventOrder *self, void *network)
{
    NetworkCall key = {network, ANY, 0, ANY, {0, 0}};
    return find_call(self, &key)->network != NULL;
}

/* A call that was not made before: the same one after another event is the best guess. */
static NetworkCall *
remember_call(EventOrder *self, const NetworkCall *key, int acting)
{
    NetworkCall any = *key;
    any.before = ANY;
    NetworkCall *known = find_call(self, &any);
    int purpose = known->network != NULL ? known->purpose.expected : acting ? ACT : FORWARD;
    return keep_call(self, key, purpose);
}

/* 1 where a library's phase decides. */
static int
purpose_in_library(EventOrder *self, int *purpose)
{
    if (core_is_open(self->core, self->learn)) {
        *purpose = FORWARD;
        return 1;
    }
    *purpose = ACT; /* the first two are `collect` and `evaluate` */
    return core_is_open(self->core, self->library[0]) || core_is_open(self->core, self->library[1]);
}

static int
purpose_without_environment(EventOrder *self, int gradients, long long batch_size)
{
    if (gradients) {
        self->learning_batch = batch_size;
    }
    return batch_size == self->learning_batch ? FORWARD : INFERENCE;
}

int
calls_purpose(EventOrder *self, void *network, int gradients, long long batch_size, int *sure)
{
    int purpose;
    *sure = 0;
    if (self->is_table) {
        events_learn_inline(self, 0);
    }
    if (purpose_in_library(self, &purpose)) {
        return purpose;
    }
    if (!self->envs || PyThread_get_thread_ident() != self->thread ||
        (self->calls == NULL && !grow_calls(self))) {
        return purpose_without_environment(self, gradients, batch_size);
    }
    self->active = 1;
    int acting = batch_size == self->envs && self->last <= ACT && self->last != SAMPLE;
    if (acting && !gradients && is_actor(self, network)) {
        *sure = 1;
        return ACT;
    }
    NetworkCall key = {network, batch_size, gradients, self->last, {0, 0}};
    NetworkCall *call = find_call(self, &key);
    if (call->network == NULL) {
        call = remember_call(self, &key, acting);
    }
    if (self->waiting_count < MOST_WAITING) {
        self->waiting[self->waiting_count++] = (uint32_t)(call - self->calls);
    }
    purpose = call->purpose.expected;
    if (purpose == FORWARD) {
        self->gradients = self->gradients || gradients;
        if (self->steps) {
            self->off_policy = batch_size > self->steps * self->envs;
        }
        /* A batch of one entry for each environment may be either. */
        *sure = batch_size > self->envs && forecast_is_sure(&call->purpose, FORWARD);
    }
    return purpose;
}

int
calls_of_object(PyObject *choose, PyObject *network)
{
    Py_INCREF(choose); /* what it calls may forget it */
    PyObject *answer = hidden_call_one(choose, network);
    Py_DECREF(choose);
    long event = answer != NULL && answer != Py_None ? PyLong_AsLong(answer) : INFERENCE;
    Py_XDECREF(answer);
    return event == SCORE || event == REFERENCE ? (int)event : INFERENCE;
}

/* An environment step or a backward pass decides what the calls before it were for. */
void
calls_decide(EventOrder *self, int purpose)
{
    /* A table that was full restarts meanwhile: then none waits any more. */
    for (uint32_t i = 0; i < self->waiting_count; i++) {
        NetworkCall key = self->calls[self->waiting[i]];
        forecast_learn(&self->calls[self->waiting[i]].purpose, purpose);
        key.before = ANY;
        keep_call(self, &key, purpose)->purpose.expected = purpose;
        if (purpose == ACT && !is_actor(self, key.network)) {
            NetworkCall actor = {key.network, ANY, 0, ANY, {0, 0}};
            keep_call(self, &actor, ACT);
            self->actors++;
        }
    }
    self->waiting_count = 0;
}
