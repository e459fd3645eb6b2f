/* Timed: a function inside a region, without its own Python frame. Hooks are made of these. */

#include "inplace.h"

int
core_is_open(Core *core, Region *region)
{
    PyThreadState *state = PyThreadState_Get();
    Thread *thread = core_thread_of(core, state);
    /* Between stretches, a call that counts what is inside it is on no stack. */
    return thread != NULL &&
           (thread->counted == region || stack_has(thread_stack_of(thread, state), region));
}

Region *
core_innermost(Core *core)
{
    Thread *thread = core_thread(core);
    if (thread == NULL) {
        return NULL;
    }
    Stack *stack = thread_stack(thread);
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    return depth > 0 ? stack->frames[depth - 1].region : NULL;
}

HOTLOOP_COLD void
core_note_failure(Core *core, PyObject *name)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    PyObject *text = value != NULL ? PyObject_Repr(value) : PyUnicode_FromString("unknown error");
    if (text != NULL) {
        PyDict_SetItem(core->failures, name, text);
        Py_DECREF(text);
    }
    PyErr_Clear();
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
}

#define AFTER_ARGS 12

/* An error of the note is kept and the note dropped. What is no error (Ctrl-C, an exit, the end that
   `--stop-after` asks for) only happened to arrive there, and is passed on to the program: -1. */
int
timed_after(Timed *self, PyObject *result, PyObject *const *args, size_t nargsf, PyObject *names,
            int timed)
{
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    Py_ssize_t all = nargs + (names != NULL ? PyTuple_GET_SIZE(names) : 0);
    PyObject *few[AFTER_ARGS + 1];
    PyObject **passed = few;
    if (all > AFTER_ARGS) {
        passed = PyMem_Malloc((size_t)(all + 1) * sizeof(PyObject *));
        if (passed == NULL) {
            return 0;
        }
    }
    passed[0] = result;
    memcpy(passed + 1, args, (size_t)all * sizeof(PyObject *));
    PyObject *after = self->after;
    Py_INCREF(after);
    Core *core = self->region->core;
    Thread *thread = core_thread(core);
    uint64_t last = thread != NULL ? thread->last : 0;
    core->noting = timed;
    /* Notes in C hide what they call themselves. */
    int is_python = PyFunction_Check(after) || PyMethod_Check(after);
    PyObject *answer = is_python ? hidden_call(after, passed, (size_t)nargs + 1, names)
                                 : PyObject_Vectorcall(after, passed, (size_t)nargs + 1, names);
    core->noting = 0;
    PyObject *type = NULL, *value = NULL, *traceback = NULL;
    if (answer == NULL && PyErr_ExceptionMatches(PyExc_Exception)) {
        core_note_failure(core, self->region->name);
        Py_CLEAR(self->after);
    }
    else if (answer == NULL) {
        PyErr_Fetch(&type, &value, &traceback);
    }
    if (timed && thread != NULL && thread->last == last && core->enabled) {
        /* No region since: everything since `last` was the note. */
        uint64_t now = core_now(core);
        thread_take_own(core, thread, now > last ? now - last : 0);
    }
    Py_XDECREF(answer);
    Py_DECREF(after);
    if (passed != few) {
        PyMem_Free(passed);
    }
    if (type == NULL) {
        return 0;
    }
    PyErr_Restore(type, value, traceback);
    return -1;
}

/* Leaving may call Python (an injected clock), which must not meet the program's error. */
HOTLOOP_COLD void
region_exit_with_error(Region *region)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    region_exit(region);
    PyErr_Restore(type, value, traceback);
}

/* A call inside the same region, or one while nothing is timed: maybe one of a deep recursion. */
static PyObject *
call_nested(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return Py_IS_TYPE(function, &OriginalType) ? original_call_nested(function, args, nargsf, names)
                                               : PyObject_Vectorcall(function, args, nargsf, names);
}

PyObject *
timed_pass_on(Timed *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    return call_nested(self->function, args, nargsf, names);
}

/* After a call inside the same region: the rewards below a wrapper are read here. */
static void
timed_below(Timed *self, PyObject *result, PyObject *const *args, size_t nargsf)
{
    if (self->outermost && self->after != NULL && result != NULL && PyVectorcall_NARGS(nargsf) > 0) {
        steps_below(self->after, args[0], result);
    }
}

/* The same, while it is learned which functions of the region call each other. */
HOTLOOP_COLD static PyObject *
call_learning(Timed *self, Core *core, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Thread *thread = core_thread(core);
    Timed *around = thread->learning;
    if (around != NULL && around->region == self->region) {
        around->around = 1;
    }
    if (self->inside < LEARNED) {
        chain_inside(self);
    }
    Py_XINCREF(around); /* greenlets end calls in any order: each reference is one's own */
    Py_INCREF(self);
    Py_XSETREF(thread->learning, self);
    PyObject *result = timed_pass_on(self, args, nargsf, names);
    thread = core_thread(core); /* it may have been forgotten meanwhile, and found again */
    if (thread != NULL) {
        Py_XSETREF(thread->learning, around);
    }
    else {
        Py_XDECREF(around);
    }
    return result;
}

PyObject *
timed_call_inside(Timed *self, Thread *thread, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Core *core = self->region->core;
    int learns = self->inside < LEARNED || thread->learning != NULL;
    PyObject *result = RARELY(learns) ? call_learning(self, core, args, nargsf, names)
                                      : timed_pass_on(self, args, nargsf, names);
    if (RARELY(core->below)) {
        timed_below(self, result, args, nargsf);
    }
    return result;
}

PyObject *
timed_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Timed *self = (Timed *)callable;
    Region *region = self->region;
    Core *core = region->core;
    int timed = 0, nested = 1;
    if (core->enabled) {
        if (RARELY(core->head != NULL)) {
            if (region == core->head) {
                stretches_tick(core);
            }
            if (core->resting && (region->flags & REGION_RESTS)) {
                return timed_call_at_rest(self, args, nargsf, names);
            }
        }
        PyThreadState *state = PyThreadState_Get();
        Thread *thread = core_thread_of(core, state);
        Stack *stack = thread != NULL ? thread_stack_of(thread, state) : NULL;
        /* A call that began while hooks rested is on no stack. */
        nested = stack == NULL || RARELY(thread->counted == region) || stack_has(stack, region);
        timed = stack != NULL && !(self->outermost && nested);
        if (self->outermost && stack != NULL && !self->always) {
            if (!timed) {
                return timed_call_inside(self, thread, args, nargsf, names);
            }
            if (RARELY(!self->leads)) {
                chain_leads(self);
            }
        }
        if (self->instead != NULL && timed) {
            return PyObject_Vectorcall(self->instead, args, nargsf, names);
        }
        if (timed) {
            stack_enter(core, thread, stack, region);
        }
    }
    PyObject *result = nested ? call_nested(self->function, args, nargsf, names)
                              : PyObject_Vectorcall(self->function, args, nargsf, names);
    if (timed) {
        if (RARELY(result == NULL)) {
            region_exit_with_error(region);
            return NULL;
        }
        region_exit(region);
    }
    if (self->after != NULL && (timed || self->always) && result != NULL &&
        timed_after(self, result, args, nargsf, names, timed) < 0) {
        Py_CLEAR(result);
    }
    return result;
}

PyObject *
bind_method(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    if (object == NULL || object == Py_None) {
        Py_INCREF(self);
        return self;
    }
    return PyMethod_New(self, object);
}

/* Everything else about it is the function's: its name, its signature, its documentation. */
static PyObject *
timed_getattr(Timed *self, PyObject *name)
{
    if (PyUnicode_CompareWithASCIIString(name, "__wrapped__") == 0) {
        Py_INCREF(self->function);
        return self->function;
    }
    if (PyUnicode_CompareWithASCIIString(name, "__class__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__reduce__") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "__reduce_ex__") == 0) {
        return PyObject_GenericGetAttr((PyObject *)self, name);
    }
    PyObject *value = PyObject_GetAttr(self->function, name);
    if (value == NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
        return PyObject_GenericGetAttr((PyObject *)self, name);
    }
    return value;
}

static int
timed_setattr(Timed *self, PyObject *name, PyObject *value)
{
    return PyObject_SetAttr(self->function, name, value);
}

static PyObject *
timed_repr(Timed *self)
{
    return PyUnicode_FromFormat("<%R timed as %R>", self->function, self->region->name);
}

static int
timed_traverse(Timed *self, visitproc visit, void *arg)
{
    Py_VISIT(self->function);
    Py_VISIT(self->after);
    Py_VISIT(self->instead);
    Py_VISIT(self->region);
    return 0;
}

static int
timed_clear(Timed *self)
{
    Py_CLEAR(self->after);
    return 0;
}

static void
timed_dealloc(Timed *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->function);
    Py_XDECREF(self->after);
    Py_XDECREF(self->instead);
    Py_XDECREF(self->region);
    PyObject_GC_Del(self);
}

/* What is pickled is the function: the process that reads it puts on its own hooks. */
static PyObject *
timed_reduce(Timed *self, PyObject *unused)
{
    (void)unused;
    PyObject *module = PyImport_ImportModule("hotloop.measure.pickling");
    if (module == NULL) {
        return NULL;
    }
    PyObject *answer = PyObject_CallMethod(module, "reduce_timed", "OO", self, self->function);
    Py_DECREF(module);
    return answer;
}

static PyMethodDef timed_methods[] = {
    {"__reduce__", (PyCFunction)timed_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject TimedType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Timed",
    .tp_basicsize = sizeof(Timed),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(Timed, call),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = bind_method,
    .tp_methods = timed_methods,
    .tp_getattro = (getattrofunc)timed_getattr,
    .tp_setattro = (setattrofunc)timed_setattr,
    .tp_repr = (reprfunc)timed_repr,
    .tp_traverse = (traverseproc)timed_traverse,
    .tp_clear = (inquiry)timed_clear,
    .tp_dealloc = (destructor)timed_dealloc,
};
