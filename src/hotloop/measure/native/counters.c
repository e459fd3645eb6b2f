/* Counters: what programs and hooks count. Native code adds to numbers in C (`counter_add`), which are
 * combined with the others when read. */

#include <math.h>

#include "core_methods.h"

static void
core_watch_count(Core *self, PyObject *name, PyObject *amount)
{
    if (PyUnicode_Compare(self->watched, name) != 0) {
        return;
    }
    self->watch_left -= PyFloat_AsDouble(amount);
    if (self->watch_left > 0 || self->watch_call == NULL) {
        return;
    }
    PyObject *call = self->watch_call;
    self->watch_call = NULL;
    Py_CLEAR(self->watched);
    PyObject *answer = hidden_call_none(call);
    Py_XDECREF(answer);
    Py_DECREF(call);
}

/* `amount` is an int or a float. */
static int
core_add(Core *self, PyObject *name, PyObject *amount)
{
    PyObject *old = PyDict_GetItemWithError(self->counters, name);
    PyObject *sum = NULL;
    if (old != NULL) {
        sum = PyNumber_Add(old, amount);
    }
    else if (!PyErr_Occurred()) {
        Py_INCREF(amount);
        sum = amount;
    }
    int failed = sum == NULL || PyDict_SetItem(self->counters, name, sum);
    Py_XDECREF(sum);
    return failed;
}

static int
core_count_amount(Core *self, PyObject *name, PyObject *amount)
{
    if (!self->enabled) {
        return 0;
    }
    if (RARELY(self->resting) && self->rested_counters != NULL) {
        int rests = PySet_Contains(self->rested_counters, name);
        if (rests) {
            return rests < 0 ? -1 : 0;
        }
    }
    int failed = core_add(self, name, amount);
    if (!failed && self->watched != NULL) {
        core_watch_count(self, name, amount);
        failed = PyErr_Occurred() != NULL;
    }
    return failed ? -1 : 0;
}

void
core_count(Core *self, PyObject *name, long long n)
{
    PyObject *amount = PyLong_FromLongLong(n);
    if (amount != NULL) {
        core_count_amount(self, name, amount);
        Py_DECREF(amount);
    }
    core_settle_error(self, name);
}

Counter *
core_counter(Core *self, const char *name)
{
    for (int i = 0; i < MOST_COUNTERS; i++) {
        Counter *each = &self->native_counters[i];
        if (each->name == NULL) {
            each->name = PyUnicode_InternFromString(name);
            return each->name != NULL ? each : NULL;
        }
        if (PyUnicode_CompareWithASCIIString(each->name, name) == 0) {
            return each;
        }
    }
    PyErr_SetString(PyExc_RuntimeError, "too many native counters");
    return NULL;
}

/* What native code has counted goes among the others; -1 with an exception. */
int
core_gather_counters(Core *self)
{
    for (int i = 0; self->counters != NULL && i < MOST_COUNTERS && self->native_counters[i].name != NULL; i++) {
        Counter *each = &self->native_counters[i];
        PyObject *amount = each->n ? PyLong_FromLongLong(each->n) : NULL;
        if (amount != NULL) {
            each->n = 0;
            core_add(self, each->name, amount);
            Py_DECREF(amount);
        }
        if (PyErr_Occurred()) {
            return -1;
        }
    }
    return 0;
}

/* A plain int or float that is finite, a new reference. NULL with an exception if it is no number,
 * and without one if it is not finite. */
static PyObject *
finite_number(PyObject *value)
{
    PyObject *number;
    if (PyLong_CheckExact(value) || PyFloat_CheckExact(value)) {
        number = Py_NewRef(value);
    }
    else {
        /* bool and NumPy's integers have an index; its other numbers, a float. */
        number = PyIndex_Check(value) ? PyNumber_Long(value)
                 : PyNumber_Check(value) ? PyNumber_Float(value) : NULL;
        if (number == NULL && !PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "count(name, n=1): n is a number");
        }
    }
    if (number == NULL) {
        return NULL;
    }
    double size = PyFloat_AsDouble(number);
    if (PyErr_Occurred() || !isfinite(size)) {
        PyErr_Clear(); /* larger than any float */
        Py_CLEAR(number);
    }
    return number;
}

const char core_count_doc[] = PyDoc_STR(
"count(name, n=1)\n--\n\n"
"Add to a counter. NaN and infinity are dropped, and `dropped` counts them.");

PyObject *
core_method_count(Core *self, PyObject *const *args, Py_ssize_t nargs)
{
    if (nargs < 1 || nargs > 2 || !PyUnicode_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "count(name, n=1): name is a string, n a number");
        return NULL;
    }
    if (nargs == 1) {
        core_count(self, args[0], 1);
        Py_RETURN_NONE;
    }
    PyObject *amount = finite_number(args[1]);
    if (amount != NULL) {
        core_count_amount(self, args[0], amount);
        core_settle_error(self, args[0]);
        Py_DECREF(amount);
    }
    else if (PyErr_Occurred()) {
        return NULL;
    }
    else {
        self->dropped++;
    }
    Py_RETURN_NONE;
}

const char core_watch_doc[] = PyDoc_STR(
"watch(name, limit, call)\n--\n\nCall once, when the counter has grown by `limit` from now.");

PyObject *
core_method_watch(Core *self, PyObject *args)
{
    PyObject *name, *call;
    double limit;
    if (!PyArg_ParseTuple(args, "UdO", &name, &limit, &call)) {
        return NULL;
    }
    Py_INCREF(name);
    Py_XSETREF(self->watched, name);
    Py_INCREF(call);
    Py_XSETREF(self->watch_call, call);
    self->watch_left = limit;
    Py_RETURN_NONE;
}
