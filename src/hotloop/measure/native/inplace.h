/* Functions that are hooked where they stand: what `inplace.c`, `inplace_table.c` and
 * `inplace_switch.c` share. */
#ifndef HOTLOOP_INPLACE_H
#define HOTLOOP_INPLACE_H

#include "timed.h"

enum { FUNCTION, BUILTIN, METHOD, OBJECT };

/* A deep recursion of it runs; hooks rest between two stretches. */
enum { RECURSES = 1, RESTS = 2 };

/* A recursion deeper than this runs without hooks until that call returns: a hooked call is made
 * through C, and the C stack is far shorter than Python's. */
#define DEEP_RECURSION 64

typedef struct Link Link;

/* A hooked function as it was: calling it runs the function without its hooks. */
struct Original {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *function; /* of an object: its address only, NULL once it is gone */
    PyObject *weak;     /* of an object: the reference to it */
    vectorcallfunc was;
    Link *top; /* the newest hook, or NULL */
    int kind;
    int nested;         /* calls inside a call of the same function, all threads together */
    int off;            /* why it is not hooked now: RECURSES, RESTS */
    int in_graph;       /* a compiled graph has guards on it */
    int under_python;   /* one of its hooks is written in Python */
    PyObject *plain;    /* of a builtin: one of the same kind with the method that it had */
    PyMethodDef *had;
    PyMethodDef method; /* what it has meanwhile */
};

/* One hook of a function. Calling it runs the hook, or what is below it once it is detached. */
struct Link {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *run; /* instead of the function; NULL once detached */
    PyObject *inner;
    Original *original;
};

/* ---- hooked functions by their address: inplace_table.c ---- */

typedef struct {
    Original **slots; /* strong references */
    size_t room;
    size_t count;
} HookedFunctions;

extern HookedFunctions hooked;

HOTLOOP_INLINE size_t
slot_of(PyObject *function)
{
    uintptr_t mixed = (uintptr_t)function >> 4;
    return (mixed ^ (mixed >> 9)) & (hooked.room - 1);
}

HOTLOOP_INLINE Original *
hooked_find(PyObject *function)
{
    if (hooked.room == 0) {
        return NULL;
    }
    for (size_t i = slot_of(function);; i = (i + 1) & (hooked.room - 1)) {
        Original *found = hooked.slots[i];
        if (found == NULL || found->function == function) {
            return found;
        }
    }
}

/* -1 with an exception. */
int hooked_add(Original *original);
void hooked_remove(Original *original);

/* ---- on and off: inplace_switch.c ---- */

int is_function(PyObject *object);
/* Whether the interpreter would call it without its vectorcall while its type is `function`. */
int function_needs_type(PyObject *function);
void original_on(Original *self);
/* 0 if other code has wrapped this hook since, and calls it. */
int original_off(Original *self);
/* A function of which every hook has nothing to do is itself again, until one has. */
void original_update(Original *self);
int switch_ready(void);

/* ---- calls: inplace_calls.c ---- */

/* What Python's own functions have; for a call that was on its way as the last hook went. */
extern vectorcallfunc plain_function_call;

/* A new reference to what is hooked; NULL with an exception if it is gone. */
PyObject *original_function(Original *self);
/* Whether this thread is that deep in hooks that are written in Python. */
int python_hooks_recurse(void);
/* Calls a hook that is written in Python. */
PyObject *call_python_hook(PyObject *hook, PyObject *const *args, size_t nargsf, PyObject *names);
PyObject *link_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names);
/* The vectorcall of every hooked function. */
PyObject *hooked_call(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names);
/* The vectorcall of every hooked object. */
PyObject *hooked_object_call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names);
PyObject *original_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names);

/* ---- special methods: inplace_special.c ---- */

/* Let bound methods of this descriptor lead to its hooks, if its name is a special one. */
void special_fill(Original *self);

/* ---- for the others ---- */

int inplace_ready(void);
/* Between stretches, functions whose hooks have nothing to do are themselves again. */
void inplace_rest(int rest);
/* networks.c */
void networks_rest(int rest);
/* A thread begins (1) or ends (-1) to compile, or to run what was compiled. */
void inplace_compiler(int compiles, int runs);
/* This function became a part of a compiled graph. */
void inplace_in_graph(PyObject *function);
PyObject *original_call_nested(PyObject *original, PyObject *const *args, size_t nargsf,
                               PyObject *names);

#endif
