/* Networks: times every outermost call of a torch module, as acting or as learning.
 *
 * A module is called through `Module.__call__`, a plain Python function. It stays in place, so that code
 * which inspects it (`torch.compile`) finds torch's own; only its vectorcall is replaced. Calls of inner
 * modules, which are most, are passed on at once. The purpose of an outermost call is decided here and
 * in calls.c. Python names the phase of a class, reads batch sizes of nested arguments, and inspects the
 * results of a few calls. */

#include "batches.h"
#include "inplace.h"
#include "references.h"
#include "updates.h"

/* One result in this many is shown of calls inside a phase that chooses an action. */
#define SHOWN_PARTS 31
/* Classes of networks whose phase is remembered. */
#define MOST_CLASSES 1024
#define NO_EVENT -2

/* A network called inside one of these is a part of it. */
#define WHOLE_PHASES 9
static const char *const whole_names[WHOLE_PHASES] = {
    "policy.act", "learn.forward",  "learn.loss",        "learn.backward",   "advantage",
    "reward",     "logprob.policy", "logprob.reference", "generate.prefill"};

/* Calls whose results Python was not shown: since the last one, and since it last asked. */
typedef struct {
    unsigned since;
    long long skipped;
} Unseen;

typedef struct {
    PyObject_HEAD
    EventOrder *order;
    Updates *updates;
    PyObject *phase_of;   /* class -> the region of its own, what chooses one by the object, or None */
    PyObject *batch_size; /* (args, kwargs) -> the batch size of nested arguments */
    PyObject *gradients;  /* torch.is_grad_enabled */
    PyObject *show;       /* (event, result) */
    PyObject *listeners;  /* functions: true while the program listens to what tensors are asked */
    int is_heard;         /* in the call that is being decided */
    PyObject *classes;    /* weak reference to a class -> region, function or None, as far as known */
    Region *whole[WHOLE_PHASES];
    Region *act;
    Region *forward;
    Region *score;
    Region *reference;
    Region *inference; /* without gradients, for a purpose that nothing shows */
    Region *generate; /* what is called in it adds a token to each completion */
    Region *decode;
    Region *search; /* what is called in it judges leaves of the tree */
    Region *judge;
    Counter *leaves;
    Counter *inferred; /* rows of calls that nothing shows what for */
    Region *collect; /* a library's rollout: what is called in it acts */
    Region *step;
    Region *reset;
    PyObject *function; /* Module.__call__ while it is taken over */
    vectorcallfunc before;
    Unseen acts;
    Unseen forwards;
    Unseen parts; /* of a phase that chooses an action */
} Networks;

/* The one that has taken a function over, and how that function was called before. */
static Networks *taken = NULL;
static vectorcallfunc was;

/* ---- what it is for ---- */

/* An outermost call: its region (NULL: a part of what is open), the event that it is, whether its
 * result is shown, and the shape of a batch that may be one of sequences. */
typedef struct {
    Region *region;
    int event;
    int shown;
    Leading leading;
} Call;

static const Call PART = {NULL, NO_EVENT, 0, {0, 0, 0}};

/* The batch size in the shape of the first argument; -1 if that is not plain. */
static long long
plain_batch_size(Leading leading)
{
    return leading.dimensions == 0 ? -1 : leading.first == 0 ? 1 : leading.first;
}

/* -1 with an exception. */
static long long
batch_size_of(Networks *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
              Leading *leading)
{
    *leading = PART.leading;
    if (self->is_heard) {
        return 1;
    }
    if (nargs > 1) {
        *leading = leading_of(args[1]);
    }
    long long size = plain_batch_size(*leading);
    if (size >= 0 || PyErr_Occurred()) {
        return size;
    }
    Py_ssize_t count = nargs - 1 + (names != NULL ? PyTuple_GET_SIZE(names) : 0);
    PyObject *given = PyTuple_New(count);
    for (Py_ssize_t i = 0; given != NULL && i < count; i++) {
        PyTuple_SET_ITEM(given, i, Py_NewRef(args[1 + i]));
    }
    PyObject *answer = given != NULL ? hidden_call_one(self->batch_size, given) : NULL;
    size = answer != NULL ? PyLong_AsLongLong(answer) : -1;
    Py_XDECREF(given);
    Py_XDECREF(answer);
    return size;
}

/* The region of a class, what chooses one, or None; NULL with an exception. Borrowed. */
static PyObject *
region_of_class(Networks *self, PyObject *type)
{
    PyObject *weak = PyWeakref_NewRef(type, NULL);
    PyObject *region = weak != NULL ? PyDict_GetItemWithError(self->classes, weak) : NULL;
    if (region == NULL && !PyErr_Occurred()) {
        if (PyDict_GET_SIZE(self->classes) >= MOST_CLASSES) {
            PyDict_Clear(self->classes); /* classes that are made as the program runs, and die */
        }
        region = hidden_call_one(self->phase_of, type);
        if (region != NULL && (PyDict_SetItem(self->classes, weak, region) < 0 ||
                               (region != Py_None && Py_TYPE(region) != &RegionType &&
                                !PyCallable_Check(region)))) {
            PyErr_SetString(PyExc_TypeError, "a class's phase is a region, a function or None");
            Py_CLEAR(region);
        }
        Py_XDECREF(region); /* the dictionary has it */
    }
    Py_XDECREF(weak);
    return region;
}

/* Whether the result of this call is one of those that are shown. */
static int
is_shown(Unseen *unseen, unsigned every)
{
    unseen->since = (unseen->since + 1) % every;
    unseen->skipped += unseen->since != 0;
    return unseen->since == 0;
}

/* Only the order of events, or a library's phase around it, says what this call is for. */
static Call
decide_by_order(Networks *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names,
                int in_learn)
{
    EventOrder *order = self->order;
    PyObject *enabled = PyObject_CallNoArgs(self->gradients);
    int gradients = enabled != NULL ? PyObject_IsTrue(enabled) : -1;
    Py_XDECREF(enabled);
    Leading leading = PART.leading;
    long long batch_size = gradients >= 0 ? batch_size_of(self, args, nargs, names, &leading) : -1;
    if (PyErr_Occurred()) {
        return PART;
    }
    int sure, purpose = calls_purpose(order, args[0], gradients, batch_size, &sure);
    if (purpose == INFERENCE && self->step->entered) {
        purpose = ACT; /* environments step in another thread, or in a region of the program's own */
    }
    int sequences = leading.dimensions == 4 && leading.first > 0 && leading.second > 1;
    if (purpose == INFERENCE) {
        counter_add(order->core, self->inferred, batch_size > 0 ? batch_size : 0);
        return (Call){self->inference, INFERENCE, 0, sequences ? leading : PART.leading};
    }
    if (purpose == ACT) {
        return (Call){self->act, ACT, !sure || is_shown(&self->acts, SHOWN_ACTS), PART.leading};
    }
    if (gradients) {
        updates_saw(self->updates, args[0], batch_size, 0);
    }
    int shown = !(sure || in_learn) || is_shown(&self->forwards, SHOWN_FORWARDS);
    return (Call){self->forward, FORWARD, shown, gradients && sequences ? leading : PART.leading};
}

/* Exceptions are the caller's. */
static Call
decide(Networks *self, Stack *stack, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    for (uint32_t i = depth; i-- > 0;) {
        for (int j = 0; j < WHOLE_PHASES; j++) {
            if (stack->frames[i].region == self->whole[j]) {
                int shown = self->whole[j] == self->act && is_shown(&self->parts, SHOWN_PARTS);
                return (Call){NULL, ACT_INSIDE, shown, PART.leading};
            }
        }
    }
    if (stack_has(stack, self->generate)) {
        return (Call){self->decode, NO_EVENT, 0, PART.leading};
    }
    if (stack_has(stack, self->search)) {
        Leading leading;
        long long leaves = batch_size_of(self, args, nargs, names, &leading);
        counter_add(self->order->core, self->leaves, leaves > 0 ? leaves : 0);
        return (Call){self->judge, NO_EVENT, 0, PART.leading};
    }
    PyObject *own = region_of_class(self, (PyObject *)Py_TYPE(args[0]));
    if (own == NULL || Py_TYPE(own) == &RegionType) {
        return (Call){(Region *)own, NO_EVENT, 0, PART.leading};
    }
    int event = own != Py_None ? calls_of_object(own, args[0]) : INFERENCE;
    if (RARELY(PyErr_Occurred() != NULL)) {
        return PART;
    }
    if (event != INFERENCE) {
        return (Call){event == SCORE ? self->score : self->reference, event, 0, PART.leading};
    }
    Region *innermost = depth > 0 ? stack->frames[depth - 1].region : NULL;
    if (innermost != NULL) {
        if (innermost == self->order->learn && self->order->known_batch_size) {
            int shown = is_shown(&self->forwards, SHOWN_FORWARDS);
            return (Call){self->forward, FORWARD, shown, PART.leading};
        }
        /* In an environment it is an opponent, or a model of the world. */
        if (innermost == self->collect || stack_has(stack, self->step) ||
            stack_has(stack, self->reset)) {
            return (Call){self->act, NO_EVENT, 0, PART.leading};
        }
    }
    return decide_by_order(self, args, nargs, names, innermost == self->order->learn);
}

/* ---- the outermost call ---- */

/* Whether the program would notice that a tensor's shape is read: its torch function mode sees every
 * such read, and a trace records it. -1 with an exception. */
static int
is_heard(Networks *self)
{
    int heard = 0;
    for (Py_ssize_t i = 0; heard == 0 && i < PyTuple_GET_SIZE(self->listeners); i++) {
        PyObject *answer = PyObject_CallNoArgs(PyTuple_GET_ITEM(self->listeners, i));
        heard = answer != NULL ? PyObject_IsTrue(answer) : -1;
        Py_XDECREF(answer);
    }
    return heard;
}

/* What hotloop does after a call that opened no gap is its own time. */
static void
note_after(Networks *self, Call call, PyObject *result)
{
    Core *core = self->order->core;
    Thread *thread = core_thread(core);
    uint64_t last = thread != NULL ? thread->last : 0;
    core->noting = call.region != NULL;
    if (call.event >= 0) {
        events_happened(self->order, call.event);
    }
    if (call.shown) {
        PyThreadState *state = hidden_begin();
        Py_XDECREF(PyObject_CallFunction(self->show, "iO", call.event, result));
        hidden_end(state);
        core_settle_error(core, self->act->name);
    }
    core->noting = 0;
    if (call.region != NULL && thread != NULL && thread->last == last) {
        uint64_t now = core_now(core);
        thread_take_own(core, thread, now > last ? now - last : 0);
    }
}

/* A network was given a batch of sequences: its rows are the product of both dimensions. */
static void
saw_sequences(Networks *self, PyObject *network, Call call)
{
    long long rows = call.leading.first * call.leading.second;
    if (call.event == INFERENCE) {
        counter_add(self->order->core, self->inferred, rows - call.leading.first);
    }
    else {
        updates_saw(self->updates, network, rows, call.leading.first);
    }
}

static PyObject *
call_outermost(Networks *self, Thread *thread, PyObject *function, PyObject *const *args,
               size_t nargsf, PyObject *names)
{
    Core *core = self->order->core;
    Py_INCREF(self); /* it may be given back meanwhile */
    thread->in_network = 1;
    self->is_heard = is_heard(self);
    Call call = self->is_heard < 0 ? PART
                                   : decide(self, thread_stack(thread), args,
                                            PyVectorcall_NARGS(nargsf), names);
    call.shown = call.shown && !self->is_heard;
    if (PyErr_Occurred()) {
        core_settle_error(core, self->act->name);
        call = PART;
    }
    if (call.region != NULL) {
        region_enter(call.region);
    }
    PyObject *result = self->before(function, args, nargsf, names);
    if (call.region != NULL && result != NULL) {
        region_exit(call.region);
    }
    else if (call.region != NULL) {
        region_exit_with_error(call.region);
    }
    if (result != NULL && core->enabled && call.leading.dimensions) {
        if (are_sequences(call.leading, result)) {
            saw_sequences(self, args[0], call);
        }
        core_settle_error(core, self->forward->name);
    }
    if (result != NULL && core->enabled && (call.event >= 0 || call.shown)) {
        note_after(self, call, result);
    }
    /* A thread of native code may have been forgotten meanwhile, and found again. */
    thread = core_thread(core);
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
    Thread *thread = core->enabled && !core->resting ? core_thread(core) : NULL;
    if (thread == NULL || thread->in_network) {
        return self->before(function, args, nargsf, names);
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

/* Between stretches the function is called as if nobody had taken it. */
void
networks_rest(int rest)
{
    if (taken == NULL) {
        return;
    }
    vectorcallfunc is = ((PyFunctionObject *)taken->function)->vectorcall;
    if (is == (rest ? network_call : taken->before)) { /* or else somebody else's */
        set_vectorcall(taken->function, rest ? taken->before : network_call);
    }
}

PyDoc_STRVAR(take_doc,
"take(function)\n--\n\nTime the calls of this function, `Module.__call__`.");

static PyObject *
method_take(Networks *self, PyObject *function)
{
    if (!PyFunction_Check(function)) {
        PyErr_SetString(PyExc_TypeError, "take(function): a Python function");
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
    self->before = was = ((PyFunctionObject *)function)->vectorcall;
    set_vectorcall(function, network_call);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(give_back_doc, "give_back()\n--\n\nRestore the function.");

static PyObject *
method_give_back(Networks *self, PyObject *unused)
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

PyDoc_STRVAR(skipped_doc,
"skipped()\n--\n\n"
"(acts, learning passes) since this was last asked whose results were not shown.");

static PyObject *
method_skipped(Networks *self, PyObject *unused)
{
    (void)unused;
    PyObject *answer = Py_BuildValue("(LL)", self->acts.skipped, self->forwards.skipped);
    self->acts.skipped = self->forwards.skipped = 0;
    return answer;
}

static int
find_names(Networks *self)
{
    Core *core = self->order->core;
    for (int i = 0; i < WHOLE_PHASES; i++) {
        self->whole[i] = core_region_named(core, whole_names[i]);
    }
    self->act = self->whole[0];
    self->forward = self->whole[1];
    self->score = core_region_named(core, "logprob.policy");
    self->reference = core_region_named(core, "logprob.reference");
    self->inference = core_region_named(core, "inference");
    self->generate = core_region_named(core, "generate");
    self->decode = core_region_named(core, "generate.decode");
    self->search = core_region_named(core, "search");
    self->judge = core_region_named(core, "search.network");
    self->leaves = core_counter(core, "search_leaves");
    self->inferred = core_counter(core, "inference_rows");
    self->collect = core_region_named(core, "collect");
    self->step = core_region_named(core, "env.step");
    self->reset = core_region_named(core, "env.reset");
    return !PyErr_Occurred();
}

static PyObject *
networks_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *order, *updates, *phase_of, *batch_size, *gradients, *show, *listeners, *tensor;
    if (!PARSE(args, kwargs, "O!O!OOOOO!O!", &EventOrderType, &order, &UpdatesType, &updates,
               &phase_of, &batch_size, &gradients, &show, &PyTuple_Type, &listeners, &PyType_Type,
               &tensor)) {
        return NULL;
    }
    batches_know((PyTypeObject *)tensor);
    Networks *self = (Networks *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->order = (EventOrder *)Py_NewRef(order);
    self->updates = (Updates *)Py_NewRef(updates);
    self->phase_of = Py_NewRef(phase_of);
    self->batch_size = Py_NewRef(batch_size);
    self->gradients = Py_NewRef(gradients);
    self->show = Py_NewRef(show);
    self->listeners = Py_NewRef(listeners);
    self->classes = PyDict_New();
    if (self->classes == NULL || !find_names(self)) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

NOTHING_ELSE_ENDS(networks)
REFERENCES(networks, offsetof(Networks, phase_of), offsetof(Networks, batch_size),
           offsetof(Networks, gradients), offsetof(Networks, show), offsetof(Networks, listeners),
           offsetof(Networks, classes),
           offsetof(Networks, function), offsetof(Networks, updates), offsetof(Networks, order))

static PyMethodDef networks_methods[] = {
    {"take", (PyCFunction)method_take, METH_O, take_doc},
    {"give_back", (PyCFunction)method_give_back, METH_NOARGS, give_back_doc},
    {"skipped", (PyCFunction)method_skipped, METH_NOARGS, skipped_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject NetworksType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Networks",
    .tp_doc = "Networks(order, updates, phase_of, batch_size, gradients, show, listeners, tensor): calls of\n"
              "modules.",
    .tp_basicsize = sizeof(Networks),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = networks_new,
    .tp_methods = networks_methods,
    .tp_traverse = networks_traverse,
    .tp_dealloc = networks_dealloc,
};
