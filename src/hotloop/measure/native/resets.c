/* Resets of environments, which start new episodes. Most are noted here; Python sees the first one of each
 * environment and few others. */

#include "returns.h"

/* Resets of other environments between two that Python sees: the one that it watches may be gone. */
#define OTHERS_BETWEEN 64

/* Begins the episodes of one environment anew; with `partly`, those that have ended. Whether it has been
 * stepped; one whose rewards were lost is a new one until Python has looked at it. */
static int
begin_anew(Returns *self, PyObject *env, int partly, int now_evaluates, int python_looks)
{
    int known = 0;
    for (uintptr_t evaluates = 0; evaluates < 2 && self->room; evaluates++) {
        Running *running = running_find(self->table, self->room, (uintptr_t)env | evaluates);
        if (running->key == 0 || running->outer != 0) {
            continue;
        }
        known |= evaluates == (uintptr_t)now_evaluates && !running->lost;
        running->lost &= !python_looks;
        for (Py_ssize_t i = 0; i < running->envs; i++) {
            Episode *episode = running->many != NULL ? &running->many[i] : &running->one;
            if (!partly || episode->over || running->many == NULL) {
                *episode = (Episode){0, 0, 0};
                if (running->raw != NULL) {
                    running->raw[i] = (Raw){0, 0};
                }
            }
        }
    }
    return known;
}

PyObject *
returns_was_reset(Returns *self, PyObject *args)
{
    PyObject *env;
    int partly, evaluates;
    if (!PyArg_ParseTuple(args, "Opp", &env, &partly, &evaluates)) {
        return NULL;
    }
    return PyBool_FromLong(begin_anew(self, env, partly, evaluates, 1));
}

PyObject *
returns_after_reset(Returns *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    (void)names;
    PyObject *env = nargs > 1 ? args[1] : Py_None;
    int evaluates = core_is_open(self->core, self->evaluate) ||
                    core_is_open(self->core, self->callback);
    if (!begin_anew(self, env, 0, evaluates, 0) && !core_is_open(self->core, self->step)) {
        PyObject *seen = hidden_call(self->first_reset, args, (size_t)nargs, NULL);
        if (seen == NULL) {
            return NULL;
        }
        Py_DECREF(seen);
    }
    int is_same = (void *)env == self->inspected;
    long long *left = is_same ? &self->uninspected : &self->others;
    if (self->inspected != NULL && *left > 0) {
        (*left)--;
        self->passed += is_same;
        Py_RETURN_NONE;
    }
    PyThreadState *state = hidden_begin();
    PyObject *answer = PyObject_CallFunction(self->inspect_reset, "OOL", args[0], env,
                                             is_same ? self->passed : 0);
    hidden_end(state);
    if (answer == NULL) {
        return NULL;
    }
    if (answer == Py_None) {
        self->others = OTHERS_BETWEEN;
    }
    else {
        self->inspected = env;
        self->passed = 0;
        self->uninspected = PyLong_AsLongLong(answer);
    }
    Py_DECREF(answer);
    if (PyErr_Occurred()) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyObject *
returns_inspect_resets(Returns *self, PyObject *args)
{
    PyObject *first, *inspect;
    if (!PyArg_ParseTuple(args, "OO", &first, &inspect)) {
        return NULL;
    }
    Py_XSETREF(self->first_reset, Py_NewRef(first));
    Py_XSETREF(self->inspect_reset, Py_NewRef(inspect));
    self->inspected = NULL;
    Py_RETURN_NONE;
}
