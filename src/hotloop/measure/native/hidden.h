#ifndef HOTLOOP_HIDDEN_H
#define HOTLOOP_HIDDEN_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Between these, nothing is traced, profiled or compiled in this thread. */
PyThreadState *hidden_begin(void);
void hidden_end(PyThreadState *state);

/* For a call of the program's from there: what it does is traced again. */
int hidden_pause(void);
void hidden_resume(int paused);

/* This many more threads (or fewer) run what torch has compiled; `set` is its `set_eval_frame`. */
void hidden_from_compiler(int change, PyObject *set);

/* `hide_from_torch`. */
extern PyMethodDef hidden_methods[];

PyObject *hidden_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names);
PyObject *hidden_call_none(PyObject *callable);
PyObject *hidden_call_one(PyObject *callable, PyObject *argument);

#endif
