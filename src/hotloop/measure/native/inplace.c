/* Hooks a function in place: the object stays the same, and only its calls go through hotloop.
 *
 * A Python function keeps everything but its vectorcall. A builtin function or a method descriptor
 * also gets a copy of its PyMethodDef with one more flag, so that the interpreter's specialised
 * calls, which read nothing else, are not used. An object with its own vectorcall slot, such as a
 * jitted function of JAX, gets another vectorcall. So identity, hash, pickling, signature, kind and
 * weak references are those of the program's own object.
 *
 * Functions and builtins are kept alive while they are hooked. Objects are not: a jitted function holds
 * compiled code, so nothing here keeps one alive, and its hooks end with it. The same holds for a
 * function that is hooked weakly because the program creates many of them while it runs.
 *
 * Python 3.11 calls objects that are exactly of type `function` without their vectorcall, and since
 * 3.13 `__init__` is entered in that way. There, the object's type also becomes a subtype with the
 * same layout and name. */

#include "core_methods.h"
#include "inplace.h"
#include "objects.h"

/* ---- attaching ---- */

static int
original_fill_builtin(Original *self, PyMethodDef *had)
{
    if (had->ml_flags & METH_METHOD) {
        return 0;
    }
    /* Specialised calls compare all flags: with one more that means nothing, none is taken. */
    self->had = had;
    self->method = *had;
    self->method.ml_flags |= METH_COEXIST;
    if (self->kind == BUILTIN) {
        PyCFunctionObject *function = (PyCFunctionObject *)self->function;
        self->was = function->vectorcall;
        self->plain = PyCMethod_New(had, function->m_self, function->m_module, NULL);
    }
    else {
        PyMethodDescrObject *method = (PyMethodDescrObject *)self->function;
        self->was = method->vectorcall;
        self->plain = PyDescr_NewMethod(method->d_common.d_type, had);
        if (self->plain != NULL) {
            special_fill(self);
        }
    }
    return self->plain != NULL;
}

static PyObject *object_died(PyObject *address, PyObject *weak);

static PyMethodDef object_died_method = {"object_died", object_died, METH_O, NULL};

static int
original_fill(Original *self, int weak)
{
    PyObject *function = self->function;
    if (self->kind == OBJECT || (weak && self->kind == FUNCTION)) {
        self->weak = object_watch(function, &object_died_method);
        if (self->weak == NULL) {
            return 0;
        }
    }
    else {
        Py_INCREF(function);
    }
    if (self->kind == OBJECT) {
        self->was = *object_slot(function);
        return 1;
    }
    if (self->kind == FUNCTION) {
        self->was = ((PyFunctionObject *)function)->vectorcall;
        if (plain_function_call == NULL) {
            plain_function_call = self->was;
        }
        return 1;
    }
    return original_fill_builtin(self, self->kind == BUILTIN
                                           ? ((PyCFunctionObject *)function)->m_ml
                                           : ((PyMethodDescrObject *)function)->d_method);
}

/* NULL without an exception: it is of another kind. */
static Original *
original_new(PyObject *function, int weak)
{
    int kind = is_function(function)                               ? FUNCTION
               : Py_IS_TYPE(function, &PyCFunction_Type)           ? BUILTIN
               : Py_IS_TYPE(function, &PyMethodDescr_Type)         ? METHOD
               : object_slot(function) != NULL                     ? OBJECT
                                                                   : -1;
#if defined(Py_DEBUG)
    if (kind == FUNCTION && function_needs_type(function)) {
        return NULL; /* it asserts that a function is exactly that */
    }
#endif
    if (kind < 0) {
        return NULL;
    }
    Original *self = PyObject_GC_New(Original, &OriginalType);
    if (self == NULL) {
        return NULL;
    }
    memset((char *)self + sizeof(PyObject), 0, sizeof(Original) - sizeof(PyObject));
    self->call = original_call;
    self->kind = kind;
    self->function = function;
    PyObject_GC_Track(self);
    if (!original_fill(self, weak) || hooked_add(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return self;
}

/* Builtins are remembered, hooked or not. */
static int
is_builtin(Original *self)
{
    return self->kind == BUILTIN || self->kind == METHOD;
}

/* The newest hook that is still on is the first to be called. */
static void
original_settle(Original *self)
{
    while (self->top != NULL && self->top->run == NULL) {
        Link *gone = self->top;
        PyObject *inner = gone->inner;
        self->top = Py_IS_TYPE(inner, &LinkType) ? (Link *)inner : NULL;
        Py_XINCREF(self->top);
        Py_DECREF(gone);
    }
    if (self->top == NULL && self->function != NULL && (self->off || original_off(self)) &&
        !is_builtin(self)) {
        hooked_remove(self);
    }
}

/* A hooked object dies: so do its hooks. A finalizer may still call it, or revive it. */
static PyObject *
object_died(PyObject *address, PyObject *weak)
{
    Original *self = hooked_find(PyLong_AsVoidPtr(address));
    if (self == NULL || self->weak != weak) {
        Py_RETURN_NONE;
    }
    Py_INCREF(self);
    (void)original_off(self);
    hooked_remove(self);
    self->function = NULL;
    Link *each = self->top;
    self->top = NULL;
    while (each != NULL) {
        Link *next = Py_IS_TYPE(each->inner, &LinkType) ? (Link *)each->inner : NULL;
        Py_XINCREF(next);
        Py_CLEAR(each->run); /* what refers to the link, in a circle */
        Py_DECREF(each);
        each = next;
    }
    Py_DECREF(self);
    Py_RETURN_NONE;
}

static PyObject *
link_detach(Link *self, PyObject *unused)
{
    (void)unused;
    Original *original = self->original;
    PyObject *run = self->run;
    if (run != NULL) {
        self->run = NULL;
        Py_INCREF(original);
        original_settle(original);
        Py_DECREF(original);
        Py_DECREF(run);
    }
    Py_RETURN_NONE;
}

/* Whether a hook enters Python code of hotloop's before it calls what is below it. */
static int
is_python(PyObject *run)
{
    return Py_IS_TYPE(run, &ListCallsType) ||
           PyFunction_Check(Py_TYPE(run) == &TimedType ? ((Timed *)run)->function : run);
}

static Link *
link_new(Original *original, PyObject *make)
{
    PyObject *inner = original->top != NULL ? (PyObject *)original->top : (PyObject *)original;
    Py_INCREF(inner);
    PyObject *run = hidden_call_one(make, inner);
    Link *self = run != NULL ? PyObject_GC_New(Link, &LinkType) : NULL;
    if (self == NULL) {
        Py_XDECREF(run);
        Py_DECREF(inner);
        return NULL;
    }
    if (run == inner) {
        Py_CLEAR(run); /* it shall be as it is */
    }
    self->call = link_call;
    self->run = run;
    self->inner = inner;
    original->under_python |= run != NULL && is_python(run);
    Py_INCREF(original);
    self->original = original;
    PyObject_GC_Track(self);
    return self;
}

/* Let calls of a function run `make(original)` instead. Returns what detaches it, or None where the
 * object is of another kind and has to be replaced. */
static PyObject *
inplace_attach(PyObject *function, PyObject *make, int weak)
{
    Original *original = hooked_find(function);
    if (original != NULL) {
        Py_INCREF(original);
    }
    else if ((original = original_new(function, weak)) == NULL) {
        if (PyErr_Occurred()) {
            return NULL;
        }
        Py_RETURN_NONE;
    }
    Link *link = link_new(original, make);
    PyObject *detach = link != NULL ? PyObject_GetAttrString((PyObject *)link, "detach") : NULL;
    if (detach == NULL || link->run == NULL) {
        Py_XDECREF(link);
        if (original->top == NULL && !is_builtin(original)) {
            hooked_remove(original);
        }
        Py_DECREF(original);
        return detach;
    }
    if (original->top == NULL && !original->off) {
        original_on(original);
    }
    Py_XDECREF(original->top); /* the new one refers to it */
    original->top = link;
    original_update(original);
    Py_DECREF(original);
    return detach;
}

/* The function without its hooks. */
static PyObject *
inplace_original(PyObject *function)
{
    Original *original = Py_IS_TYPE(function, &LinkType) ? ((Link *)function)->original
                                                         : hooked_find(function);
    if (original != NULL && is_builtin(original) && original->top == NULL) {
        original = NULL;
    }
    PyObject *found = original != NULL ? (PyObject *)original : function;
    Py_INCREF(found);
    return found;
}

/* ---- methods of Core ---- */

const char core_attach_doc[] = PyDoc_STR(
"attach(function, make, weak=False)\n--\n\n"
"Let every call of `function` run `make(original)` instead, where `original` is the function with\n"
"the hooks that it has by now. The object itself stays. Returns a callable that detaches this hook\n"
"again, or None where it is neither a Python function, a builtin function, a builtin method nor an\n"
"object with a vectorcall of its own. Only the latter, and a function with `weak`, may die while it\n"
"is hooked; `original` then raises a ReferenceError.");

PyObject *
core_method_attach(Core *self, PyObject *args)
{
    PyObject *function, *make;
    int weak = 0;
    (void)self;
    if (!PyArg_ParseTuple(args, "OO|p", &function, &make, &weak)) {
        return NULL;
    }
    return inplace_attach(function, make, weak);
}

const char core_original_doc[] = PyDoc_STR(
"original(function)\n--\n\nA callable that runs `function` without the hooks attached to it.");

PyObject *
core_method_original(Core *self, PyObject *function)
{
    (void)self;
    return inplace_original(function);
}

const char core_compiler_doc[] = PyDoc_STR(
"compiler(compiles, runs)\n--\n\n"
"A thread begins (1) or ends (-1) to compile, or to run what was compiled. While one compiles, all\n"
"hooked functions are exactly of type `function`; while one runs, those in a graph are.");

PyObject *
core_method_compiler(Core *self, PyObject *args)
{
    (void)self;
    int compiles, runs;
    if (!PyArg_ParseTuple(args, "ii", &compiles, &runs)) {
        return NULL;
    }
    inplace_compiler(compiles, runs);
    Py_RETURN_NONE;
}

const char core_in_graph_doc[] = PyDoc_STR(
"in_graph(function)\n--\n\nThis function became a part of a compiled graph.");

PyObject *
core_method_in_graph(Core *self, PyObject *function)
{
    (void)self;
    inplace_in_graph(function);
    Py_RETURN_NONE;
}

/* ---- the two types ---- */

/* Everything else about it is the function's: its name, its signature, its documentation. */
static PyObject *
original_getattr(Original *self, PyObject *name)
{
    PyObject *function = original_function(self);
    PyObject *value = function != NULL ? PyObject_GetAttr(function, name) : NULL;
    Py_XDECREF(function);
    return value;
}

static PyObject *
link_getattr(Link *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "detach") == 0) {
        return PyObject_GenericGetAttr((PyObject *)self, name);
    }
    return original_getattr(self->original, name);
}

static int
original_traverse(Original *self, visitproc visit, void *arg)
{
    if (self->weak == NULL) {
        Py_VISIT(self->function);
    }
    Py_VISIT(self->weak);
    Py_VISIT(self->plain);
    Py_VISIT(self->top);
    return 0;
}

static void
original_dealloc(Original *self)
{
    PyObject_GC_UnTrack(self);
    if (self->weak == NULL) {
        Py_XDECREF(self->function);
    }
    Py_XDECREF(self->weak);
    Py_XDECREF(self->plain);
    Py_XDECREF(self->top);
    PyObject_GC_Del(self);
}

static int
link_traverse(Link *self, visitproc visit, void *arg)
{
    Py_VISIT(self->run);
    Py_VISIT(self->inner);
    Py_VISIT(self->original);
    return 0;
}

static int
link_clear(Link *self)
{
    Py_CLEAR(self->run);
    return 0;
}

static void
link_dealloc(Link *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->run);
    Py_XDECREF(self->inner);
    Py_XDECREF(self->original);
    PyObject_GC_Del(self);
}

static PyMethodDef link_methods[] = {
    {"detach", (PyCFunction)link_detach, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

#define CALLABLE_FLAGS                                                    \
    (Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | \
     Py_TPFLAGS_METHOD_DESCRIPTOR)

PyTypeObject OriginalType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Original",
    .tp_basicsize = sizeof(Original),
    .tp_flags = CALLABLE_FLAGS,
    .tp_vectorcall_offset = offsetof(Original, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind_method,
    .tp_getattro = (getattrofunc)original_getattr,
    .tp_traverse = (traverseproc)original_traverse,
    .tp_dealloc = (destructor)original_dealloc,
};

PyTypeObject LinkType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Link",
    .tp_basicsize = sizeof(Link),
    .tp_flags = CALLABLE_FLAGS,
    .tp_vectorcall_offset = offsetof(Link, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind_method,
    .tp_methods = link_methods,
    .tp_getattro = (getattrofunc)link_getattr,
    .tp_traverse = (traverseproc)link_traverse,
    .tp_clear = (inquiry)link_clear,
    .tp_dealloc = (destructor)link_dealloc,
};

int
inplace_ready(void)
{
    return switch_ready() < 0 || PyType_Ready(&OriginalType) < 0 || PyType_Ready(&LinkType) < 0 ? -1
                                                                                               : 0;
}
