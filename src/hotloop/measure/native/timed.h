/* Timed: a function inside a region, which hooks are made of. */
#ifndef HOTLOOP_TIMED_H
#define HOTLOOP_TIMED_H

#include "core.h"

struct Timed {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function;
    PyObject *after;
    PyObject *instead; /* of timing: what an outermost call runs, or NULL */
    Region *region;
    int outermost;
    int always;
    int counts; /* the note may count what has to be exact, between stretches too */
    /* Where it stands among functions of the same region that call each other: see inplace_switch.c. */
    int leads;       /* it was the outermost */
    int around;      /* it has called another one */
    uint32_t inside; /* calls inside another one, up to LEARNED */
};

/* Calls after which it is known where a function stands. */
#define LEARNED 256

/* How a callable becomes a method: the tp_descr_get of both that hooks put into classes. */
PyObject *bind_method(PyObject *self, PyObject *object, PyObject *type);
/* The function itself, without its region. */
PyObject *timed_pass_on(Timed *self, PyObject *const *args, size_t nargsf, PyObject *names);
int timed_after(Timed *self, PyObject *result, PyObject *const *args, size_t nargsf, PyObject *names,
                int timed);
PyObject *timed_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names);

/* A call inside another one of the same region, which is the one that counts. */
PyObject *timed_call_inside(Timed *self, Thread *thread, PyObject *const *args, size_t nargsf,
                            PyObject *names);
/* A step inside another one: of an environment below reward wrappers, if `note` counts steps. */
void steps_below(PyObject *note, PyObject *env, PyObject *result);

/* stretches.c: a call while its hook rests. */
PyObject *timed_call_at_rest(Timed *self, PyObject *const *args, size_t nargsf, PyObject *names);

/* ---- functions of one region that call each other: inplace_switch.c ---- */

/* A call of this function is the outermost of its region for the first time: others may be so too. */
void chain_leads(Timed *timed);
/* One more call of it was inside another one. */
void chain_inside(Timed *timed);
/* Nothing is known any more of which functions call each other; a NULL stands for all regions. Whether
 * any function was not hooked because of that. */
int chain_forget(Region *region);

#endif
