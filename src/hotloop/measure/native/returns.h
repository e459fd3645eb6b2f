/* Returns: the sum of rewards over each episode, kept per environment. */
#ifndef HOTLOOP_RETURNS_H
#define HOTLOOP_RETURNS_H

#include "core.h"
#include "distribution.h"

/* Whose episodes: training and evaluation; and of each, what a recorder under the reward wrappers
 * (`Monitor`, `RecordEpisodeStatistics`) reported or their environment returned. */
enum { TRAINING, EVALUATION, TRAINING_RAW, EVALUATION_RAW, EPISODE_KINDS };

/* What the step after an episode's end is: the first of the next one, a call that only resets, or
 * nothing until the program resets. */
enum { AUTORESET_SAME_STEP, AUTORESET_NEXT_STEP, AUTORESET_DISABLED };

typedef struct {
    double sum;
    long long length;
    int over; /* ended, and no step since */
} Episode;

/* The rewards below the wrappers that change them, since the episode began. */
typedef struct {
    double sum;
    int seen; /* whether there was a step */
} Raw;

/* The episodes that are in progress in one environment, or in a vector of them. */
typedef struct {
    uintptr_t key;   /* its address; the lowest bit is set for evaluation. 0: a free slot */
    uint64_t resets; /* of all environments, as it was last stepped */
    int continued;   /* it has had a step that ended nothing */
    int over;        /* its last step ended an episode */
    int autoreset;
    Py_ssize_t envs;
    Episode one;     /* where there is one environment */
    Episode *many;   /* where there are several */
    Raw *raw;        /* per environment, where they are added up; or NULL */
    int lost;        /* no longer: what was below is another one by now */
    uintptr_t outer; /* of such an environment: the key of what wraps it, else 0, */
    Py_ssize_t place; /* and its place in that */
} Running;

/* The mean over this many episodes is what learning curves show, from a few on. Only whole ones are
 * compared with a target: the mean of few episodes reaches it by luck. */
#define RECENT 100
#define FEWEST_RECENT 10

typedef struct {
    PyObject_HEAD
    Core *core;
    PyObject *autoreset; /* env -> AUTORESET_* */
    PyObject *read_info; /* info -> [(return, length)], of the episodes that ended */
    Running *table;
    size_t room, used;
    Distribution kinds[EPISODE_KINDS];
    int raw;               /* the recent ones are of rewards below the wrappers */
    int adds_raw[2];       /* these are added up here, of training and evaluation */
    double recent[RECENT]; /* returns of the last training episodes, in a ring */
    long long recorded;
    double best;           /* highest mean of them */
    uint64_t best_ns;
    double target;         /* of that mean, at which `reached` is called; NaN without one */
    PyObject *reached;
    Region *evaluate; /* whose episodes are not part of the training; nor are a callback's */
    Region *callback;
    Region *step;
    PyObject *first_reset;   /* (result, env, ...): of an environment that has not been stepped */
    PyObject *inspect_reset; /* (result, env, passed) */
    void *inspected;         /* the environment that it watches; NULL: not known */
    long long uninspected;   /* resets of that one until the next inspection */
    long long passed;        /* since the last one */
    long long others;        /* and of all others: the watched one may be gone */
} Returns;


extern PyTypeObject ReturnsType;

/* ---- running_episodes.c ---- */

/* The slot of a key, or the free one where it would be. */
Running *running_find(Running *table, size_t room, uintptr_t key);
void running_forget(Returns *self);

/* The episodes in progress of `env`, which has that many environments; NULL without memory. Valid
 * until the next call. */
Running *returns_running(Returns *self, PyObject *env, Py_ssize_t envs, int evaluates);

/* Follow the environments below `env` from the beginning of their episodes; -1 without memory. */
int returns_follow(Returns *self, PyObject *env, PyObject *below, int evaluates);
/* The environment below wrappers made a step: nothing if it is not followed. */
void returns_below(Returns *self, PyObject *env, PyObject *result, int evaluates);

/* ---- resets.c: methods ---- */

PyObject *returns_was_reset(Returns *self, PyObject *args);
PyObject *returns_after_reset(Returns *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names);
PyObject *returns_inspect_resets(Returns *self, PyObject *args);

/* ---- returns.c ---- */

/* Environment `index` of `running` made a step. */
void returns_step(Returns *self, Running *running, Py_ssize_t index, double reward, int ended);
/* The reward of one environment as a number; 0 if only Python can read it. */
int returns_reward(PyObject *reward, double *value);
/* Reads at the end of episodes what a recorder under the reward wrappers noted in `info`. */
void returns_read_info(Returns *self, PyObject *info, int evaluates);
/* After steps: calls the watchers of a return, once it is reached. */
void returns_notify(Returns *self);

#endif
