/* Switches hooked functions on and off: in deep recursions, between stretches, and for torch's compiler,
 * which checks their type. */

#include "inplace.h"
#include "own_frames.h"
#include "objects.h"

#include <structmember.h>

/* ---- Python functions whose type has to differ ---- */

int
function_needs_type(PyObject *function)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *name = ((PyFunctionObject *)function)->func_name;
    return PyUnicode_CompareWithASCIIString(name, "__init__") == 0;
#else
    (void)function;
    return PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030C0000;
#endif
}

/* By its name, as pickle treats every function. */
static PyObject *
function_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    PyObject *name = ((PyFunctionObject *)self)->func_qualname;
    Py_INCREF(name);
    return name;
}

static PyObject *
function_class(PyObject *self, void *closure)
{
    (void)self, (void)closure;
    Py_INCREF(&PyFunction_Type);
    return (PyObject *)&PyFunction_Type;
}

/* A type has a documentation of its own, which must not hide the function's. */
static PyMemberDef function_members[] = {
    {"__doc__", T_OBJECT, offsetof(PyFunctionObject, func_doc), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef function_methods[] = {
    {"__reduce__", function_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef function_getset[] = {
    {"__class__", function_class, NULL, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyTypeObject HookedFunctionType;

/* Tables from types to something (copy, pickle, dill) and comparisons take it for `function`. */
static PyObject *
kind_compare(PyObject *left, PyObject *right, int operation)
{
    if (operation != Py_EQ && operation != Py_NE) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    PyObject *other = left == (PyObject *)&HookedFunctionType ? right : left;
    if (other != (PyObject *)&PyFunction_Type && other != (PyObject *)&HookedFunctionType) {
        Py_RETURN_NOTIMPLEMENTED;
    }
    return PyBool_FromLong(operation == Py_EQ);
}

static Py_hash_t
kind_hash(PyObject *self)
{
    (void)self;
    return PyObject_Hash((PyObject *)&PyFunction_Type);
}

static PyTypeObject HookedKindType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "type",
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_richcompare = kind_compare,
    .tp_hash = kind_hash,
};

static PyTypeObject HookedFunctionType = {
    PyVarObject_HEAD_INIT(&HookedKindType, 0)
    .tp_name = "function",
    .tp_basicsize = sizeof(PyFunctionObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(PyFunctionObject, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_methods = function_methods,
    .tp_members = function_members,
    .tp_getset = function_getset,
};

int
is_function(PyObject *object)
{
    return Py_IS_TYPE(object, &PyFunction_Type) || Py_IS_TYPE(object, &HookedFunctionType);
}

/* Threads that compile now, and threads that run what was compiled: the compiler asks whether a
 * function is exactly of that type, and so do the guards of its graphs. */
static int compiling, running;

static void
function_set_type(Original *self, int is_hooked)
{
    int seen = compiling || (running && self->in_graph);
    int differs = is_hooked && !seen && function_needs_type(self->function);
    Py_SET_TYPE(self->function, differs ? &HookedFunctionType : &PyFunction_Type);
}

/* Calls that the interpreter has specialised for this function are looked up again. */
static void
function_set(Original *self, vectorcallfunc call, int is_hooked)
{
    PyFunctionObject *function = (PyFunctionObject *)self->function;
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall(function, call);
#else
    function->vectorcall = call;
#endif
#if PY_VERSION_HEX >= 0x030B0000
    if (!is_hooked || PY_VERSION_HEX < 0x030C0000) {
        function->func_version = 0; /* and may be specialised again */
    }
#endif
    function_set_type(self, is_hooked);
}

/* ---- on and off ---- */

void
original_on(Original *self)
{
    if (self->kind == FUNCTION) {
        function_set(self, hooked_call, 1);
    }
    else if (self->kind == BUILTIN) {
        ((PyCFunctionObject *)self->function)->m_ml = &self->method;
        ((PyCFunctionObject *)self->function)->vectorcall = hooked_call;
    }
    else if (self->kind == OBJECT) {
        *object_slot(self->function) = hooked_object_call;
    }
    else {
        ((PyMethodDescrObject *)self->function)->d_method = &self->method;
        ((PyMethodDescrObject *)self->function)->vectorcall = hooked_call;
    }
}

int
original_off(Original *self)
{
    if (self->kind == FUNCTION) {
        if (((PyFunctionObject *)self->function)->vectorcall != hooked_call) {
            return 0;
        }
        function_set(self, self->was, 0);
    }
    else if (self->kind == BUILTIN) {
        ((PyCFunctionObject *)self->function)->m_ml = self->had;
        ((PyCFunctionObject *)self->function)->vectorcall = self->was;
    }
    else if (self->kind == OBJECT) {
        vectorcallfunc *slot = object_slot(self->function);
        if (slot == NULL || *slot != hooked_object_call) {
            return 0;
        }
        *slot = self->was;
    }
    else {
        ((PyMethodDescrObject *)self->function)->d_method = self->had;
        ((PyMethodDescrObject *)self->function)->vectorcall = self->was;
    }
    return 1;
}

/* A call inside a call of the same function. Where a recursion is deep, the function is itself again
 * until this call returns: the interpreter then enters it without C. Other threads' calls of it
 * are not timed meanwhile. */
PyObject *
original_call_nested(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Original *self = (Original *)callable;
    if (self->kind != FUNCTION) {
        return original_call(callable, args, nargsf, names);
    }
    PyObject *function = original_function(self);
    if (function == NULL) {
        return NULL;
    }
    self->nested++;
    int deep = (self->nested > DEEP_RECURSION || python_hooks_recurse()) && !self->off &&
               self->top != NULL && original_off(self);
    self->off |= deep ? RECURSES : 0;
    Aside aside;
    int stepped = self->under_python && own_frames_step_aside(&aside);
    PyObject *result = self->was(function, args, nargsf, names);
    if (stepped) {
        own_frames_return(&aside);
    }
    self->nested--;
    if (deep) {
        self->off &= ~RECURSES;
        if (self->top != NULL && !self->off) {
            original_on(self);
        }
    }
    Py_DECREF(function);
    return result;
}

/* ---- hooks that have nothing to do ---- */

/* Functions of one region call each other: a vector of environments steps each of them, through a row of
 * wrappers. Only the outermost is measured. One that is always called inside another one and calls a
 * third one is in the middle, and need not be hooked. The innermost is called whatever is around it, so
 * it stays hooked, and shows when that has changed. All stay while rewards below wrappers are added up. */
static int
is_in_the_middle(const Timed *timed)
{
    return timed->inside == LEARNED && timed->around && !timed->leads && !timed->region->core->below;
}

static int all_rest;

/* Others may do more than measure. */
static int
hook_rests(PyObject *run)
{
    if (!Py_IS_TYPE(run, &TimedType)) {
        return all_rest && Py_IS_TYPE(run, &TensorMethodType);
    }
    Timed *timed = (Timed *)run;
    Region *region = timed->region;
    int rests = region->core->resting && region->core->head != region &&
                (region->flags & REGION_RESTS) && !timed->counts;
    PyObject *inner = timed->function;
    return (rests || is_in_the_middle(timed)) &&
           (Py_IS_TYPE(inner, &LinkType) || Py_IS_TYPE(inner, &OriginalType) || hook_rests(inner));
}

static int
original_rests(Original *self)
{
    for (Link *each = self->top; each != NULL;
         each = Py_IS_TYPE(each->inner, &LinkType) ? (Link *)each->inner : NULL) {
        if (each->run != NULL && !hook_rests(each->run)) {
            return 0;
        }
    }
    return self->top != NULL;
}

void
original_update(Original *self)
{
    int rests = original_rests(self);
    if (rests && !self->off && original_off(self)) {
        self->off |= RESTS;
    }
    else if (!rests && self->off & RESTS) {
        self->off &= ~RESTS;
        if (self->top != NULL && !self->off) {
            original_on(self);
        }
    }
}

static void
update_all(void)
{
    for (size_t i = 0; i < hooked.room; i++) {
        if (hooked.slots[i] != NULL) {
            original_update(hooked.slots[i]);
        }
    }
}

void
inplace_rest(int rest)
{
    all_rest = rest;
    update_all();
}

int
chain_forget(Region *region)
{
    int any = 0;
    for (size_t i = 0; i < hooked.room; i++) {
        Link *each = hooked.slots[i] != NULL ? hooked.slots[i]->top : NULL;
        for (; each != NULL; each = Py_IS_TYPE(each->inner, &LinkType) ? (Link *)each->inner : NULL) {
            Timed *timed = (Timed *)each->run;
            if (timed != NULL && Py_IS_TYPE(timed, &TimedType) &&
                (region == NULL || timed->region == region)) {
                any |= is_in_the_middle(timed);
                timed->inside = 0;
                timed->around = 0;
            }
        }
    }
    if (any) {
        update_all();
    }
    return any;
}

HOTLOOP_COLD void
chain_leads(Timed *timed)
{
    /* If others were not hooked, one of these is around this call: the next one shows. */
    timed->leads = !chain_forget(timed->region);
}

HOTLOOP_COLD void
chain_inside(Timed *timed)
{
    timed->inside++;
    if (is_in_the_middle(timed)) {
        PyObject *inner = timed->function;
        Original *original = Py_IS_TYPE(inner, &LinkType)       ? ((Link *)inner)->original
                             : Py_IS_TYPE(inner, &OriginalType) ? (Original *)inner
                                                                : NULL;
        if (original != NULL) {
            original_update(original);
        }
    }
}

/* ---- the compiler ---- */

void
inplace_compiler(int compiles, int runs)
{
    compiling += compiles;
    running += runs;
    for (size_t i = 0; i < hooked.room; i++) {
        Original *each = hooked.slots[i];
        if (each != NULL && each->kind == FUNCTION && (compiles || each->in_graph)) {
            function_set_type(each, each->top != NULL && !each->off);
        }
    }
}

void
inplace_in_graph(PyObject *function)
{
    Original *original = hooked_find(function);
    if (original != NULL) {
        original->in_graph = 1;
    }
}

int
switch_ready(void)
{
    HookedKindType.tp_base = &PyType_Type;
    if (PyType_Ready(&HookedKindType) < 0) {
        return -1;
    }
    HookedFunctionType.tp_base = &PyFunction_Type;
    HookedFunctionType.tp_descr_get = PyFunction_Type.tp_descr_get; /* debug builds want it beforehand */
    return PyType_Ready(&HookedFunctionType);
}
