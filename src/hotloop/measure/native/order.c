/* Order: in which order the parts of a training loop happen, and what the gaps between them are.
 * `hotloop.hooks.plain_loop` says what for; `hotloop.hooks.order` is the same in Python, and says
 * more. It runs after every network call and every environment step, when all that Python needs
 * for as much has long left the processor's caches. */

#include "order.h"
#include "structmember.h"

static void
moment_learn(Moment *moment, int answer)
{
    if (answer == moment->answer) {
        moment->trust += moment->trust < STUBBORNNESS;
    }
    else if (moment->trust > 0) {
        moment->trust--;
    }
    else {
        moment->answer = answer;
    }
    if (moment->regions[moment->answer] != NULL) {
        moment->gap = moment->regions[moment->answer];
    }
}

/* NULL with an exception if the regions cannot be had. */
static Moment *
order_find(Order *self, int kind, int where, int as_long)
{
    Moment *moment = &self->moments[(kind * CIRCUMSTANCES + where) * 2 + as_long];
    if (moment->known) {
        return moment;
    }
    PyObject *regions = PyObject_CallFunction(self->find, "ii", kind, where);
    if (regions == NULL) {
        return NULL;
    }
    if (!PyList_Check(regions) || PyList_GET_SIZE(regions) != KINDS) {
        Py_DECREF(regions);
        PyErr_SetString(PyExc_TypeError, "a list of regions, one for each event");
        return NULL;
    }
    memset(moment, 0, sizeof(*moment));
    for (int i = 0; i < KINDS; i++) {
        PyObject *region = PyList_GET_ITEM(regions, i);
        if (Py_TYPE(region) == &RegionType && ((Region *)region)->core == self->core) {
            moment->regions[i] = (Region *)region;
            moment->gap = moment->gap != NULL ? moment->gap : (Region *)region;
        }
    }
    Py_DECREF(regions);
    moment->known = 1;
    moment->answer = kind == ADD ? STEP : kind;
    moment_learn(moment, moment->answer);
    return moment;
}

static int
order_mark(Order *self, Region *region)
{
    PyObject *answer = PyObject_CallOneArg(self->mark, region->name);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

static int
order_judge(Order *self, int purpose)
{
    if (!self->waiting) {
        return 0;
    }
    PyObject *answer = PyObject_CallFunction(self->judge, "i", purpose);
    Py_XDECREF(answer);
    return answer == NULL ? -1 : 0;
}

/* In a library's `learn`, whose table names the rest better: only the loss is inferred. */
int
order_in_learn(Order *self, int kind)
{
    if (self->in_loss) {
        self->in_loss = 0;
        core_claim_gap(self->core, self->loss);
    }
    if (kind == FORWARD && !self->loss_is_named) {
        self->in_loss = 1;
        if (!self->loss_marked) {
            self->loss_marked = 1;
            if (order_mark(self, self->loss) < 0) {
                return -1;
            }
        }
        region_open_gap(self->loss);
    }
    return 0;
}

/* The gap that was open until this event goes where it belongs. */
static int
order_close_gap(Order *self, int kind, int where)
{
    Moment *moment = self->moment;
    if (moment == NULL) {
        return 0;
    }
    Region *region = NULL;
    Moment *named = moment;
    if (moment->gap != NULL) {
        if (where == OFF_POLICY && self->where != OFF_POLICY) {
            /* Found out by the very call that ended the gap. */
            named = order_find(self, self->last, where, 0);
            if (named == NULL) {
                return -1;
            }
        }
        region = named->regions[kind];
        if (region != NULL) {
            core_claim_gap(self->core, region);
        }
    }
    if (moment->answer != kind || moment->trust != STUBBORNNESS) {
        moment_learn(moment, kind);
        if (region != NULL && !named->marked[kind]) {
            named->marked[kind] = 1;
            return order_mark(self, region);
        }
    }
    return 0;
}

/* Whether the training loop runs in this thread: in the main one, or while nothing of a training
 * happens there (a look at what a network says is none) in another that steps environments. */
static int
order_is_own(Order *self, int kind)
{
    unsigned long long thread = PyThread_get_thread_ident();
    if (thread == self->thread) {
        self->strange = 0;
        return 1;
    }
    int trains = kind == STEP || kind == BACKWARD || kind == OPTIMIZER;
    if (thread == self->home ? !trains : kind != STEP || ++self->strange <= STRANGE_STEPS) {
        return 0;
    }
    self->thread = thread;
    self->strange = 0;
    self->envs = self->steps = self->steps_before = self->updates = self->updates_before = 0;
    self->active = self->gradients = self->waiting = self->off_policy = 0;
    self->last = STEP;
    self->moment = NULL;
    return 1;
}

int
order_event(Order *self, int kind)
{
    Core *core = self->core;
    Thread *thread = core_thread(core);
    if (thread == NULL) {
        return 0;
    }
    Stack *stack = thread_stack(thread);
    uint32_t depth = stack->depth - (stack_in_gap(stack) ? 1 : 0);
    if (depth > 0 && stack->frames[depth - 1].region == self->learn) {
        return order_in_learn(self, kind);
    }
    if (!order_is_own(self, kind)) {
        return 0;
    }
    if (self->moment_thread != self->thread) {
        self->moment = NULL; /* told while another thread was called back */
    }
    for (uint32_t i = 0; i < depth; i++) {
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(self->library); j++) {
            if ((PyObject *)stack->frames[i].region == PyTuple_GET_ITEM(self->library, j)) {
                self->moment = NULL;
                /* An update that is one region is one all the same. */
                self->updates += kind == OPTIMIZER;
                return 0;
            }
        }
    }
    self->active = 1;
    int where = self->off_policy ? OFF_POLICY : self->gradients != 0;
    if (order_close_gap(self, kind, where) < 0) {
        return -1;
    }
    int as_long = 0;
    if (kind <= ACT) {
        as_long = self->steps == self->steps_before;
    }
    else if (kind == OPTIMIZER) {
        self->updates++;
        as_long = self->updates == self->updates_before;
    }
    else if (kind == BACKWARD) {
        if (self->steps) {
            self->steps_before = self->steps;
            self->steps = 0;
        }
        if (order_judge(self, FORWARD) < 0) {
            return -1;
        }
    }
    self->last = kind;
    self->where = where;
    Moment *moment = order_find(self, kind, where, as_long);
    self->moment = moment;
    self->moment_thread = PyThread_get_thread_ident();
    if (moment == NULL) {
        return -1;
    }
    if (moment->gap != NULL) {
        region_open_gap(moment->gap);
    }
    return 0;
}

static int
kind_of(PyObject *argument)
{
    long kind = PyLong_AsLong(argument);
    if (kind < 0 || kind >= KINDS) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_ValueError, "no such event");
        }
        return -1;
    }
    return (int)kind;
}

PyDoc_STRVAR(order_happened_doc,
"happened(kind)\n--\n\nSomething is over; what follows is a gap until something else happens.");

static PyObject *
order_happened(Order *self, PyObject *argument)
{
    int kind = kind_of(argument);
    if (kind < 0 || order_tell(self, kind) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(order_happened_in_learn_doc,
"happened_in_learn(kind)\n--\n\nThe same inside a library's `learn`.");

static PyObject *
order_happened_in_learn(Order *self, PyObject *argument)
{
    int kind = kind_of(argument);
    if (kind < 0 || (!order_is_over(self) && order_in_learn(self, kind) < 0)) {
        return NULL;
    }
    Py_RETURN_NONE;
}

int
order_step(Order *self, long long envs)
{
    if (order_is_over(self) || !order_is_own(self, STEP)) {
        return 0;
    }
    self->envs = envs;
    self->steps++;
    if (!self->active) {
        self->last = STEP;
        return 0;
    }
    if (self->updates) {
        if (counter_add(self->core, self->learn_events, 1) < 0) {
            return -1;
        }
        self->updates_before = self->updates;
        self->updates = 0;
        self->gradients = 0;
    }
    return order_judge(self, ACT) < 0 || order_event(self, STEP) < 0 ? -1 : 0;
}

PyDoc_STRVAR(order_stepped_doc,
"stepped(envs)\n--\n\nSo many environments were stepped once, together.");

static PyObject *
order_stepped(Order *self, PyObject *argument)
{
    long long envs = PyLong_AsLongLong(argument);
    if ((envs == -1 && PyErr_Occurred()) || order_step(self, envs) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(order_prepared_doc,
"prepared(*_, **__)\n--\n\nGradients were set to zero or clipped: a note after such a function.");

static PyObject *
order_prepared(Order *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    (void)args, (void)nargs, (void)names;
    if (order_is_over(self)) {
        Py_RETURN_NONE;
    }
    /* In a library's update it says nothing that the backward pass does not. */
    if (core_innermost(self->core) != self->learn && order_event(self, PREPARE) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(order_forget_doc,
"forget()\n--\n\nForget the names of gaps: libraries name other phases than they did before.");

static PyObject *
order_forget(Order *self, PyObject *unused)
{
    (void)unused;
    memset(self->moments, 0, sizeof(self->moments));
    self->moment = NULL;
    Py_RETURN_NONE;
}

static int
order_init(Order *self, PyObject *args, PyObject *kwargs)
{
    PyObject *core, *learn, *loss, *library, *find, *mark, *judge;
    if (kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) {
        PyErr_SetString(PyExc_TypeError, "Order takes no keywords");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!O!O!O!OOO", &CoreType, &core, &RegionType, &learn, &RegionType,
                          &loss, &PyTuple_Type, &library, &find, &mark, &judge)) {
        return -1;
    }
    if (self->core != NULL) {
        PyErr_SetString(PyExc_TypeError, "an Order begins once");
        return -1;
    }
    if (((Region *)learn)->core != (Core *)core || ((Region *)loss)->core != (Core *)core) {
        PyErr_SetString(PyExc_TypeError, "regions of another core");
        return -1;
    }
    self->learn_events = core_counter((Core *)core, "learn_events");
    if (self->learn_events == NULL) {
        return -1;
    }
    Py_INCREF(core);
    Py_INCREF(learn);
    Py_INCREF(loss);
    Py_INCREF(library);
    Py_INCREF(find);
    Py_INCREF(mark);
    Py_INCREF(judge);
    self->core = (Core *)core;
    self->learn = (Region *)learn;
    self->loss = (Region *)loss;
    self->library = library;
    self->find = find;
    self->mark = mark;
    self->judge = judge;
    return 0;
}

static int
order_traverse(Order *self, visitproc visit, void *arg)
{
    Py_VISIT(self->core);
    Py_VISIT(self->learn);
    Py_VISIT(self->loss);
    Py_VISIT(self->library);
    Py_VISIT(self->find);
    Py_VISIT(self->mark);
    Py_VISIT(self->judge);
    return 0;
}

/* What the C code reads without asking (core, library) stays until the end. */
static int
order_clear(Order *self)
{
    Py_CLEAR(self->find);
    Py_CLEAR(self->mark);
    Py_CLEAR(self->judge);
    return 0;
}

static void
order_dealloc(Order *self)
{
    PyObject_GC_UnTrack(self);
    order_clear(self);
    Py_CLEAR(self->library);
    Py_CLEAR(self->learn);
    Py_CLEAR(self->loss);
    Py_CLEAR(self->core);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

static PyMethodDef order_methods[] = {
    {"happened", (PyCFunction)order_happened, METH_O, order_happened_doc},
    {"happened_in_learn", (PyCFunction)order_happened_in_learn, METH_O,
     order_happened_in_learn_doc},
    {"stepped", (PyCFunction)order_stepped, METH_O, order_stepped_doc},
    {"prepared", (PyCFunction)(void (*)(void))order_prepared, METH_FASTCALL | METH_KEYWORDS,
     order_prepared_doc},
    {"forget", (PyCFunction)order_forget, METH_NOARGS, order_forget_doc},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef order_members[] = {
    {"thread", T_ULONGLONG, offsetof(Order, thread), 0, NULL},
    {"home", T_ULONGLONG, offsetof(Order, home), 0, NULL},
    {"envs", T_LONGLONG, offsetof(Order, envs), 0, NULL},
    {"steps", T_LONGLONG, offsetof(Order, steps), 0, NULL},
    {"steps_before", T_LONGLONG, offsetof(Order, steps_before), 0, NULL},
    {"told", T_LONGLONG, offsetof(Order, told), 0, NULL},
    {"last", T_INT, offsetof(Order, last), 0, NULL},
    {"active", T_BOOL, offsetof(Order, active), 0, NULL},
    {"off_policy", T_BOOL, offsetof(Order, off_policy), 0, NULL},
    {"gradients", T_BOOL, offsetof(Order, gradients), 0, NULL},
    {"waiting", T_BOOL, offsetof(Order, waiting), 0, NULL},
    {"loss_is_named", T_BOOL, offsetof(Order, loss_is_named), 0, NULL},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject OrderType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Order",
    .tp_doc = "Order(core, learn, loss, library, find, mark, judge): see hotloop.hooks.order.",
    .tp_basicsize = sizeof(Order),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_init = (initproc)order_init,
    .tp_methods = order_methods,
    .tp_members = order_members,
    .tp_traverse = (traverseproc)order_traverse,
    .tp_clear = (inquiry)order_clear,
    .tp_dealloc = (destructor)order_dealloc,
};
