/* Networks: every call of a torch module comes through here (`hotloop.hooks.torch` says what for).
 *
 * A module is called through `Module.__call__`, a plain Python function. It stays where it is and
 * what it is, so that whoever looks at it (`torch.compile` does) finds torch's own; only the way
 * that C calls it, its vectorcall, is ours. Inner modules, which are the most, are passed on at
 * once; of the outermost, those in a phase that is open already, in a library's rollout or update,
 * or which choose an action or learn as they did before are seen to here. All others go to the hook
 * in Python, and so does one in so many, which looks at the answer. */

#include "learning.h"

/* One call in so many is looked at; hotloop.hooks.graphs looks at as many answers. */
#define LOOKED_AT 32
/* An act or an update may call two networks or four: each of them must have its turn. */
#define PARTS_LOOKED_AT 31
#define FORWARDS_LOOKED_AT 31

/* Calls that the hook in Python was not shown: since the last that was, and since it last asked. */
typedef struct {
    int since;
    long long skipped;
} Unseen;

typedef struct {
    PyObject_HEAD
    Order *order;
    Region *act;
    Region *forward;
    Region *collect;     /* a library's rollout: what is called in it acts */
    PyObject *whole;     /* regions; a network inside one is a part of it */
    PyObject *plain;     /* class -> None where calls of it are no phase of their own */
    PyObject *actors;    /* ids of the networks that have acted */
    PyObject *learners;  /* (id, gradients, rows, event before) of calls that are known to learn */
    Learning *learning;
    PyObject *gradients; /* torch.is_grad_enabled */
    PyObject *slow;      /* the hook in Python: (module, args, kwargs) */
    PyObject *function;  /* Module.__call__ while it is taken over */
    vectorcallfunc before;
    int is_short;        /* it does nothing but what `pass_on` does */
    int broken;          /* the order could not be told: all calls go to the hook */
    Unseen acts;
    Unseen forwards;
    Unseen parts; /* of an agent's method that chooses an action */
} Networks;

/* The one that has taken a function over, and how that function was called before. */
static Networks *taken = NULL;
static vectorcallfunc was;
static PyObject *shape_name, *compiled_name, *call_name, *getattribute_name;

/* ---- the call itself ---- */

/* The function behind `_call_impl` of a class, as long as the class stays what it is. Python's own
 * way to it is long: modules define `__getattr__`, and nothing about such a class is remembered. */
typedef struct {
    PyTypeObject *type;
    unsigned int version;
    PyObject *function; /* NULL where attributes must be asked for */
} Known;

#define KNOWN 64
static Known known[KNOWN];

HOTLOOP_COLD static PyObject *
look_up_function(PyTypeObject *type)
{
    PyObject *function = _PyType_Lookup(type, call_name);
    int plain = function != NULL && PyFunction_Check(function) &&
                _PyType_Lookup(type, compiled_name) == Py_None &&
                _PyType_Lookup(type, getattribute_name) ==
                    _PyType_Lookup(&PyBaseObject_Type, getattribute_name);
    return plain ? function : NULL;
}

/* A class that is changed gets another number, which no class had before; 0 is none. */
static unsigned int
version_of(PyTypeObject *type)
{
#if PY_VERSION_HEX < 0x030C0000
    return PyType_HasFeature(type, Py_TPFLAGS_VALID_VERSION_TAG) ? type->tp_version_tag : 0;
#else
    return type->tp_version_tag;
#endif
}

static PyObject *
function_of(PyTypeObject *type)
{
    unsigned int version = version_of(type);
    Known *each = &known[((uintptr_t)type >> 5 ^ (uintptr_t)type >> 11) % KNOWN];
    if (version == 0 || each->type != type || each->version != version) {
        PyObject *function = look_up_function(type); /* which gives the class its number */
        PyObject *before = each->function;
        Py_XINCREF(function);
        *each = (Known){type, version_of(type), function};
        Py_XDECREF(before); /* may run Python: the last thing */
        return function;
    }
    return each->function;
}

/* Whether the module itself has neither attribute, so that its class's hold. */
static int
is_like_its_class(PyObject *module)
{
    PyObject *own = PyObject_GenericGetDict(module, NULL);
    int has = own != NULL ? PyDict_Contains(own, compiled_name) : -1;
    has = has == 0 ? PyDict_Contains(own, call_name) : has;
    Py_XDECREF(own);
    if (has < 0) {
        PyErr_Clear(); /* Python's own way will find it again */
    }
    return has == 0;
}

/* What `Module.__call__` does, without its frame. */
static PyObject *
pass_on(Networks *self, PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *call = self->is_short ? function_of(Py_TYPE(args[0])) : NULL;
    if (call == NULL || !is_like_its_class(args[0])) {
        return self->before(function, args, nargsf, names);
    }
    /* It may be taken off its class meanwhile. The flag would allow to change the first argument,
     * which is not ours. */
    Py_INCREF(call);
    PyObject *result = PyObject_Vectorcall(call, args, (size_t)PyVectorcall_NARGS(nargsf), names);
    Py_DECREF(call);
    return result;
}

/* The rows of the first argument, as the hook in Python counts them; -1 if it must, with an exception
 * or without. */
static long long
rows_of(PyObject *argument)
{
    PyObject *shape = PyObject_GetAttr(argument, shape_name);
    if (shape == NULL) {
        return -1;
    }
    long long rows = -1;
    if (PyTuple_Check(shape)) { /* torch.Size is one */
        rows = 1;
        if (PyTuple_GET_SIZE(shape) > 1) {
            /* A symbol of torch's exporters must not be turned into a number. */
            PyObject *first = PyTuple_GET_ITEM(shape, 0);
            rows = PyLong_CheckExact(first) ? PyLong_AsLongLong(first) : -1;
            rows = rows == 0 ? 1 : rows;
        }
    }
    Py_DECREF(shape);
    return rows;
}

/* Whether this is one of the calls that the hook in Python is not shown. */
static int
skips(Unseen *unseen, unsigned looked_at)
{
    unseen->since = (unseen->since + 1) % looked_at;
    unseen->skipped += unseen->since != 0;
    return unseen->since != 0;
}

/* What an outermost call is: a part of what is open, an act in a library's rollout, an act in the
 * program's own loop, a learning pass in an update, one in the program's own loop. Of all but the
 * first two the order is told. */
enum { UNKNOWN, PART, ACTS, ACTS_IN_LOOP, LEARNS, LEARNS_IN_LOOP };

/* What was found out about a call on the way. */
typedef struct {
    int gradients;
    long long rows; /* 0: not asked for */
} Asked;

/* 0 if it cannot be told, maybe with an exception. */
static int
ask(Networks *self, PyObject *const *args, Py_ssize_t nargs, Asked *asked)
{
    asked->rows = nargs > 1 ? rows_of(args[1]) : -1;
    PyObject *gradients = asked->rows > 0 ? PyObject_CallNoArgs(self->gradients) : NULL;
    asked->gradients = gradients == Py_True;
    int known = asked->gradients || gradients == Py_False;
    Py_XDECREF(gradients);
    return known;
}

static int
is_actor(Networks *self, PyObject *module)
{
    PyObject *id = PyLong_FromVoidPtr(module);
    int known = id != NULL ? PySet_Contains(self->actors, id) : -1;
    Py_XDECREF(id);
    return known;
}

static int
is_learner(Networks *self, PyObject *module, Asked *asked)
{
    PyObject *key = Py_BuildValue("(NOLi)", PyLong_FromVoidPtr(module),
                                  asked->gradients ? Py_True : Py_False, asked->rows,
                                  self->order->last);
    int known = key != NULL ? PySet_Contains(self->learners, key) : -1;
    Py_XDECREF(key);
    return known;
}

/* In the program's own loop: whether this call is one more of those that are known to act, or to
 * learn. */
static int
purpose_in_loop(Networks *self, PyObject *const *args, Py_ssize_t nargs, Asked *asked)
{
    Order *order = self->order;
    if (self->broken || order->judge == NULL || !order->envs ||
        PyThread_get_thread_ident() != order->thread || !ask(self, args, nargs, asked)) {
        return UNKNOWN;
    }
    int acting = order->last <= ACT && order->last != SAMPLE;
    if (acting && !asked->gradients && asked->rows == order->envs && is_actor(self, args[0]) == 1) {
        return skips(&self->acts, LOOKED_AT) ? ACTS_IN_LOOP : UNKNOWN;
    }
    /* As many rows as environments may be either. */
    if (asked->rows > order->envs && is_learner(self, args[0], asked) == 1) {
        return skips(&self->forwards, FORWARDS_LOOKED_AT) ? LEARNS_IN_LOOP : UNKNOWN;
    }
    return UNKNOWN;
}

/* Directly inside `learn`: it learns. Rows are counted unless a table has told them. */
static int
purpose_in_learn(Networks *self, PyObject *const *args, Py_ssize_t nargs, Asked *asked)
{
    if (self->broken || (!self->order->told && !ask(self, args, nargs, asked))) {
        return UNKNOWN;
    }
    return skips(&self->forwards, FORWARDS_LOOKED_AT) ? LEARNS : UNKNOWN;
}

/* Exceptions are the caller's. */
static int
purpose_of(Networks *self, Stack *stack, PyObject *const *args, Py_ssize_t nargs, Asked *asked)
{
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    for (uint32_t i = depth; i-- > 0;) {
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(self->whole); j++) {
            if ((PyObject *)stack->frames[i].region == PyTuple_GET_ITEM(self->whole, j)) {
                int acts = stack->frames[i].region == self->act;
                return acts && !skips(&self->parts, PARTS_LOOKED_AT) ? UNKNOWN : PART;
            }
        }
    }
    if (PyDict_GetItemWithError(self->plain, (PyObject *)Py_TYPE(args[0])) != Py_None) {
        return UNKNOWN;
    }
    if (depth == 0) {
        return purpose_in_loop(self, args, nargs, asked);
    }
    Region *innermost = stack->frames[depth - 1].region;
    if (innermost == self->collect) {
        return ACTS;
    }
    return innermost == self->order->learn ? purpose_in_learn(self, args, nargs, asked) : UNKNOWN;
}

/* What the hook in Python notes before a call that it knows the purpose of. */
static void
note_before(Networks *self, PyObject *module, int purpose, Asked *asked)
{
    Order *order = self->order;
    if (purpose == ACTS_IN_LOOP || purpose == LEARNS_IN_LOOP) {
        order->active = 1;
    }
    if (purpose == LEARNS_IN_LOOP) {
        order->gradients = order->gradients || asked->gradients;
        if (order->steps) {
            order->off_policy = asked->rows > order->steps * order->envs;
        }
    }
    if ((purpose == LEARNS || purpose == LEARNS_IN_LOOP) && asked->gradients) {
        learning_saw(self->learning, module, asked->rows);
    }
}

/* The order is told. -1 with what is no error but only happened to arrive there. */
static int
tell(Networks *self, int kind)
{
    Order *order = self->order;
    Core *core = order->core;
    Thread *thread = core_thread(core);
    uint64_t last = thread != NULL ? thread->last : 0;
    core->noting = 1;
    int failed = order->judge != NULL && order_event(order, kind) < 0;
    core->noting = 0;
    if (failed) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        core_note_failure(core, self->act->name);
        self->broken = 1;
    }
    if (thread != NULL && thread->last == last) {
        /* No gap was opened: what it took is hotloop's own. */
        uint64_t now = core_now(core);
        uint64_t spent = now > last ? now - last : 0;
        core->own_ns += spent;
        thread_skip(thread, thread_stack(thread), spent);
    }
    return 0;
}

/* The hook in Python is asked: slow(module, args, kwargs). */
HOTLOOP_COLD static PyObject *
call_slow(Networks *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    PyObject *rest = PyTuple_New(nargs - 1);
    PyObject *named = PyDict_New();
    int failed = rest == NULL || named == NULL;
    for (Py_ssize_t i = 1; !failed && i < nargs; i++) {
        Py_INCREF(args[i]);
        PyTuple_SET_ITEM(rest, i - 1, args[i]);
    }
    for (Py_ssize_t i = 0; !failed && names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        failed = PyDict_SetItem(named, PyTuple_GET_ITEM(names, i), args[nargs + i]) < 0;
    }
    PyObject *result = NULL;
    if (!failed) {
        PyObject *given[] = {args[0], rest, named};
        result = PyObject_Vectorcall(self->slow, given, 3, NULL);
    }
    Py_XDECREF(rest);
    Py_XDECREF(named);
    return result;
}

/* A call in a phase of its own. */
static PyObject *
call_timed(Networks *self, PyObject *function, PyObject *const *args, size_t nargsf,
           PyObject *names, int purpose)
{
    int learns = purpose == LEARNS || purpose == LEARNS_IN_LOOP;
    Region *region = learns ? self->forward : self->act;
    region_enter(region);
    PyObject *result = pass_on(self, function, args, nargsf, names);
    if (result != NULL) {
        region_exit(region);
        if (purpose != ACTS && self->order->core->enabled &&
            tell(self, learns ? FORWARD : ACT) < 0) {
            Py_CLEAR(result);
        }
        return result;
    }
    region_exit_with_error(region);
    return NULL;
}

static PyObject *
call_outermost(Networks *self, Thread *thread, PyObject *function, PyObject *const *args,
               size_t nargsf, PyObject *names)
{
    Py_ssize_t nargs = PyVectorcall_NARGS(nargsf);
    Asked asked = {0, 0};
    int purpose = purpose_of(self, thread_stack(thread), args, nargs, &asked);
    if (PyErr_Occurred()) {
        /* What is no error (Ctrl-C, an exit) only happened to arrive here: it is the program's. */
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyErr_Clear();
        purpose = UNKNOWN;
    }
    Py_INCREF(self); /* it may be given back meanwhile */
    PyObject *result;
    thread->in_network = 1;
    if (purpose == PART) {
        result = pass_on(self, function, args, nargsf, names);
    }
    else if (purpose == UNKNOWN) {
        result = call_slow(self, args, nargs, names);
    }
    else {
        note_before(self, args[0], purpose, &asked);
        result = call_timed(self, function, args, nargsf, names, purpose);
    }
    /* A thread of native code may have been forgotten meanwhile, and found again. */
    thread = core_thread(self->order->core);
    if (thread != NULL) {
        thread->in_network = 0;
    }
    Py_DECREF(self);
    return result;
}

/* The vectorcall of `Module.__call__`. */
static PyObject *
network_call(PyObject *function, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Networks *self = taken;
    if (self == NULL || self->function != function || PyVectorcall_NARGS(nargsf) < 1) {
        return was(function, args, nargsf, names);
    }
    Core *core = self->order->core;
    Thread *thread = core_thread(core);
    if (thread == NULL || thread->in_network || !core->enabled) {
        return pass_on(self, function, args, nargsf, names);
    }
    return call_outermost(self, thread, function, args, nargsf, names);
}

/* ---- taking the function over ---- */

static void
set_vectorcall(PyObject *function, vectorcallfunc call)
{
#if PY_VERSION_HEX >= 0x030C0000
    PyFunction_SetVectorcall((PyFunctionObject *)function, call);
#else
    ((PyFunctionObject *)function)->vectorcall = call;
#endif
}

PyDoc_STRVAR(networks_take_doc,
"take(function, is_short)\n--\n\n"
"See to the calls of this function, `Module.__call__`. With `is_short` it only calls\n"
"`_compiled_call_impl` where there is one and `_call_impl` elsewhere.");

static PyObject *
networks_take(Networks *self, PyObject *args)
{
    PyObject *function;
    int is_short;
    if (!PyArg_ParseTuple(args, "O!p", &PyFunction_Type, &function, &is_short)) {
        return NULL;
    }
    if (taken != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "calls of networks are taken over already");
        return NULL;
    }
    Py_INCREF(self);
    Py_INCREF(function);
    taken = self;
    self->function = function;
    self->is_short = is_short;
    self->before = was = ((PyFunctionObject *)function)->vectorcall;
    set_vectorcall(function, network_call);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(networks_give_back_doc, "give_back()\n--\n\nLet the function be as it was.");

static PyObject *
networks_give_back(Networks *self, PyObject *unused)
{
    (void)unused;
    if (taken == self) {
        set_vectorcall(self->function, self->before);
        taken = NULL;
        Py_CLEAR(self->function);
        Py_DECREF(self);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(networks_skipped_doc,
"skipped()\n--\n\n"
"(acts, learning passes) since this was last asked that the hook in Python was not shown.");

static PyObject *
networks_skipped(Networks *self, PyObject *unused)
{
    (void)unused;
    PyObject *answer = Py_BuildValue("(LL)", self->acts.skipped, self->forwards.skipped);
    self->acts.skipped = self->forwards.skipped = 0;
    return answer;
}

static PyObject *
networks_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *order, *act, *forward, *collect, *whole, *plain, *actors, *learners, *learning;
    PyObject *gradients, *slow;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!O!O!O!O!O!O!O!O!OO", &OrderType, &order, &RegionType, &act,
                          &RegionType, &forward, &RegionType, &collect, &PyTuple_Type, &whole,
                          &PyDict_Type, &plain, &PySet_Type, &actors, &PySet_Type, &learners,
                          &LearningType, &learning, &gradients, &slow)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Networks takes no keywords");
        }
        return NULL;
    }
    if (((Order *)order)->core == NULL || ((Region *)act)->core != ((Order *)order)->core ||
        ((Region *)forward)->core != ((Order *)order)->core) {
        PyErr_SetString(PyExc_TypeError, "a region of the order's core");
        return NULL;
    }
    if (shape_name == NULL) {
        shape_name = PyUnicode_InternFromString("shape");
        compiled_name = PyUnicode_InternFromString("_compiled_call_impl");
        call_name = PyUnicode_InternFromString("_call_impl");
        getattribute_name = PyUnicode_InternFromString("__getattribute__");
        if (shape_name == NULL || compiled_name == NULL || call_name == NULL ||
            getattribute_name == NULL) {
            Py_CLEAR(shape_name);
            return NULL;
        }
    }
    Networks *self = (Networks *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->order = (Order *)order;
    self->act = (Region *)act;
    self->forward = (Region *)forward;
    self->collect = (Region *)collect;
    self->whole = whole;
    self->plain = plain;
    self->actors = actors;
    self->learners = learners;
    self->learning = (Learning *)learning;
    self->gradients = gradients;
    self->slow = slow;
    Py_INCREF(order);
    Py_INCREF(act);
    Py_INCREF(forward);
    Py_INCREF(collect);
    Py_INCREF(whole);
    Py_INCREF(plain);
    Py_INCREF(actors);
    Py_INCREF(learners);
    Py_INCREF(learning);
    Py_INCREF(gradients);
    Py_INCREF(slow);
    return (PyObject *)self;
}

static int
networks_traverse(Networks *self, visitproc visit, void *arg)
{
    Py_VISIT(self->order);
    Py_VISIT(self->act);
    Py_VISIT(self->forward);
    Py_VISIT(self->collect);
    Py_VISIT(self->whole);
    Py_VISIT(self->plain);
    Py_VISIT(self->actors);
    Py_VISIT(self->learners);
    Py_VISIT(self->learning);
    Py_VISIT(self->gradients);
    Py_VISIT(self->slow);
    Py_VISIT(self->function);
    return 0;
}

static void
networks_dealloc(Networks *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->order);
    Py_XDECREF(self->act);
    Py_XDECREF(self->forward);
    Py_XDECREF(self->collect);
    Py_XDECREF(self->whole);
    Py_XDECREF(self->plain);
    Py_XDECREF(self->actors);
    Py_XDECREF(self->learners);
    Py_XDECREF(self->learning);
    Py_XDECREF(self->gradients);
    Py_XDECREF(self->slow);
    Py_XDECREF(self->function);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef networks_methods[] = {
    {"take", (PyCFunction)networks_take, METH_VARARGS, networks_take_doc},
    {"give_back", (PyCFunction)networks_give_back, METH_NOARGS, networks_give_back_doc},
    {"skipped", (PyCFunction)networks_skipped, METH_NOARGS, networks_skipped_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject NetworksType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Networks",
    .tp_doc = "Networks(order, act, forward, collect, whole, plain, actors, learners, learning, "
              "gradients, slow)",
    .tp_basicsize = sizeof(Networks),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = networks_new,
    .tp_methods = networks_methods,
    .tp_traverse = (traverseproc)networks_traverse,
    .tp_dealloc = (destructor)networks_dealloc,
};
