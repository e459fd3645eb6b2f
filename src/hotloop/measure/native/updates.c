/* Updates: gradient steps, and the batches from which they learn.
 *
 * Between two backward passes a network sees its batch once, however often it is called, and several
 * networks see the same batch; a backward pass without a step adds to the next one (accumulation). A
 * gradient step is one round of the program's optimizers: one that steps again begins the next
 * round, so that an actor, a critic and a temperature that step in turn make one gradient step, and a
 * policy and a value function that are trained one after the other make one at each step. */

#include "updates.h"
#include "optimizers.h"
#include "references.h"

typedef struct {
    void *who; /* a network, or an optimizer by its parameters */
    long long batch_size;
    long long sequences; /* that its rows are of; 0: none */
} Seen;

typedef struct {
    Seen all[MOST_NETWORKS];
    int count;
} Table;

/* What one gradient step learned from. */
typedef struct {
    long long rows;
    long long sequences;
} Batch;

struct Updates {
    PyObject_HEAD
    EventOrder *order;
    PyObject *show_loss;   /* called with one loss in SHOWN_LOSSES */
    PyObject *show_buffer; /* and with the buffer of one batch in SHOWN_SAMPLES */
    PyObject *name_optimizer; /* (optimizer) -> the names of its counters, or None */
    Optimizers optimizers;
    Batch last_batch;
    long long unseen; /* steps while hooks rested, before any batch was seen */
    Counter *gradient_steps;
    Counter *samples;
    Counter *sequences;
    Counter *iterations;
    Table now;   /* batch size of each network since the last backward pass */
    Table sum;   /* and over the backward passes since the last gradient step */
    Table round; /* optimizers that have stepped, in order */
    void *alone; /* the round before was this optimizer's alone; NULL: of several */
    unsigned losses;
    unsigned batches;
};

static Seen *
find(Table *table, void *who)
{
    for (int i = 0; i < table->count; i++) {
        if (table->all[i].who == who) {
            return &table->all[i];
        }
    }
    return NULL;
}

/* NULL where the table is full. */
static Seen *
find_or_add(Table *table, void *who)
{
    Seen *seen = find(table, who);
    if (seen == NULL && table->count < MOST_NETWORKS) {
        seen = &table->all[table->count++];
        *seen = (Seen){who, 0, 0};
    }
    return seen;
}

void
updates_saw(Updates *self, void *network, long long batch_size, long long sequences)
{
    Seen *seen = find_or_add(&self->now, network);
    if (seen != NULL && batch_size > seen->batch_size) {
        seen->batch_size = batch_size;
        seen->sequences = sequences;
    }
}

static void
backward_ended(Updates *self)
{
    for (int i = 0; i < self->now.count; i++) {
        Seen *seen = find_or_add(&self->sum, self->now.all[i].who);
        if (seen != NULL) {
            seen->batch_size += self->now.all[i].batch_size;
            seen->sequences += self->now.all[i].sequences;
        }
    }
    self->now.count = 0;
}

static Batch
batch_of_step(Updates *self)
{
    if (self->order->known_batch_size) {
        return (Batch){self->order->known_batch_size, 0};
    }
    backward_ended(self);
    Batch most = {0, 0};
    for (int i = 0; i < self->sum.count; i++) {
        if (self->sum.all[i].batch_size > most.rows) {
            most = (Batch){self->sum.all[i].batch_size, self->sum.all[i].sequences};
        }
    }
    long long drawn = self->order->drawn_rows;
    if (drawn && most.rows > drawn) {
        return (Batch){drawn, 0}; /* a network saw its rows several times, with other actions */
    }
    if (most.rows == 0 && self->order->core->head != NULL && self->last_batch.rows) {
        return self->last_batch; /* the first of a stretch: its network was called before */
    }
    return most.rows ? most : (Batch){events_collected(self->order), 0};
}

static void
count_step(Updates *self, Batch batch)
{
    Core *core = self->order->core;
    counter_add(core, self->gradient_steps, 1);
    if (!batch.rows) {
        self->unseen += core->resting;
        return;
    }
    long long steps = 1 + self->unseen; /* those had batches like this one */
    self->unseen = 0;
    counter_add(core, self->samples, batch.rows * steps);
    if (batch.sequences) {
        counter_add(core, self->sequences, batch.sequences * steps);
    }
}

/* The round is over: this optimizer steps again. Where the one that began it had rounds of its own,
 * and does not step again, it was not the first of this round but trained before it. */
static void
end_round(Updates *self, Seen *again)
{
    Table *round = &self->round;
    if (again != NULL && again != round->all && self->alone == round->all[0].who) {
        count_step(self, (Batch){again->batch_size, again->sequences});
    }
    self->alone = round->count == 1 ? round->all[0].who : NULL;
    round->count = 0;
}

static void
optimizer_stepped(Updates *self, void *optimizer)
{
    Batch batch = batch_of_step(self);
    if (self->order->core->resting) {
        batch = self->last_batch; /* this one was not seen */
    }
    self->order->known_batch_size = self->order->drawn_rows = 0;
    self->sum.count = 0;
    Seen *again = find(&self->round, optimizer);
    if (again != NULL || self->round.count == MOST_NETWORKS) {
        end_round(self, again);
    }
    if (self->round.count == 0) {
        count_step(self, batch);
        self->last_batch = batch;
    }
    Seen *stepped = find_or_add(&self->round, optimizer);
    if (stepped != NULL) {
        stepped->batch_size = batch.rows;
        stepped->sequences = batch.sequences;
    }
}

/* The first is shown, and then one in `every`. */
static void
show(Updates *self, unsigned *count, unsigned every, PyObject *callback, PyObject *what)
{
    unsigned before = *count;
    *count = before + 1 < every ? before + 1 : 0;
    if (before != 0 || callback == NULL) {
        return;
    }
    PyObject *answer = hidden_call_one(callback, what);
    if (answer == NULL) {
        core_settle_error(self->order->core, self->order->learn->name);
    }
    Py_XDECREF(answer);
}

/* ---- notes after functions ---- */

#define NOTE_OF(name) \
    static PyObject *name(Updates *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)

PyDoc_STRVAR(after_backward_doc,
"after_backward(result, loss=None, *_, **__)\n--\n\nA backward pass has ended.");

NOTE_OF(after_backward)
{
    (void)names;
    backward_ended(self);
    events_happened(self->order, BACKWARD);
    show(self, &self->losses, SHOWN_LOSSES, self->show_loss, nargs > 1 ? args[1] : Py_None);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(after_step_doc,
"after_step(result, optimizer, *_, **__)\n--\n\nAn optimizer has stepped.");

NOTE_OF(after_step)
{
    (void)names;
    PyObject *optimizer = nargs > 1 ? args[1] : Py_None;
    void *key = optimizer_key(optimizer);
    optimizer_stepped(self, key);
    optimizers_stepped(&self->optimizers, self->order->core, key, optimizer, self->name_optimizer);
    if (self->order->core->resting) {
        events_rested(self->order, OPTIMIZER, 0);
    }
    else {
        events_happened(self->order, OPTIMIZER);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(after_forward_doc,
"after_forward(*_, **__)\n--\n\nA library's learning pass has ended; what follows is the loss.");

NOTE_OF(after_forward)
{
    (void)args, (void)nargs, (void)names;
    events_happened_in_learn(self->order, FORWARD);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(after_rollout_doc,
"after_rollout(*_, **__)\n--\n\nA library has collected what it learns from next.");

NOTE_OF(after_rollout)
{
    (void)args, (void)nargs, (void)names;
    counter_add(self->order->core, self->iterations, 1);
    Py_RETURN_NONE;
}

/* An argument by its position, or by its name. */
static PyObject *
argument(PyObject *const *args, Py_ssize_t nargs, PyObject *names, Py_ssize_t position,
         const char *name)
{
    if (nargs > position) {
        return args[position];
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) {
            return args[nargs + i];
        }
    }
    PyErr_Format(PyExc_TypeError, "no %s", name);
    return NULL;
}

PyDoc_STRVAR(after_sample_doc,
"after_sample(result, buffer, batch_size, *_, **__)\n--\n\n"
"A batch of that size was drawn from a replay buffer.");

NOTE_OF(after_sample)
{
    PyObject *given = argument(args, nargs, names, 2, "batch_size");
    long long batch_size = given != NULL ? PyLong_AsLongLong(given) : -1;
    if (batch_size == -1 && PyErr_Occurred()) {
        return NULL;
    }
    self->order->known_batch_size = batch_size;
    PyObject *buffer = nargs > 1 ? args[1] : Py_None;
    show(self, &self->batches, SHOWN_SAMPLES, self->show_buffer, buffer);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(after_minibatch_doc,
"after_minibatch(result, buffer, batch_inds, *_, **__)\n--\n\n"
"The minibatch with these indices was taken from a rollout.");

NOTE_OF(after_minibatch)
{
    /* A recurrent policy's minibatch is padded: only the indices give its size. */
    PyObject *indices = argument(args, nargs, names, 2, "batch_inds");
    Py_ssize_t batch_size = indices != NULL ? PyObject_Size(indices) : -1;
    if (batch_size < 0) {
        return NULL;
    }
    self->order->known_batch_size = batch_size;
    Py_RETURN_NONE;
}

/* ---- for other hooks ---- */

PyDoc_STRVAR(forward_doc,
"forward(network, batch_size)\n--\n\n"
"A network, by its `id`, was called with gradients on a batch of that size.");

static PyObject *
method_forward(Updates *self, PyObject *args)
{
    unsigned long long network;
    long long batch_size;
    if (!PyArg_ParseTuple(args, "KL", &network, &batch_size)) {
        return NULL;
    }
    updates_saw(self, (void *)(uintptr_t)network, batch_size, 0);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(backward_doc, "backward()\n--\n\nA backward pass has ended.");

static PyObject *
method_backward(Updates *self, PyObject *unused)
{
    (void)unused;
    backward_ended(self);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(optimizer_doc,
"optimizer(optimizer)\n--\n\nAn optimizer, by its `id`, has stepped.");

static PyObject *
method_optimizer(Updates *self, PyObject *number)
{
    void *optimizer = PyLong_AsVoidPtr(number);
    if (optimizer == NULL && PyErr_Occurred()) {
        return NULL;
    }
    optimizer_stepped(self, optimizer);
    Py_RETURN_NONE;
}

static PyObject *
get_known_batch_size(Updates *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(self->order->known_batch_size);
}

static int
set_known_batch_size(Updates *self, PyObject *value, void *closure)
{
    (void)closure;
    long long batch_size = value != NULL ? PyLong_AsLongLong(value) : 0;
    if (PyErr_Occurred()) {
        return -1;
    }
    self->order->known_batch_size = batch_size;
    return 0;
}

static PyGetSetDef updates_getset[] = {
    {"batch_size", (getter)get_known_batch_size, (setter)set_known_batch_size,
     "Batch size of the next gradient step, where a table knows it; 0 elsewhere.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyObject *
updates_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *order, *show_loss, *show_buffer, *name_optimizer;
    if (!PARSE(args, kwargs, "O!OOO", &EventOrderType, &order, &show_loss, &show_buffer,
               &name_optimizer)) {
        return NULL;
    }
    Updates *self = (Updates *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Core *core = ((EventOrder *)order)->core;
    self->order = (EventOrder *)Py_NewRef(order);
    self->show_loss = Py_NewRef(show_loss);
    self->show_buffer = Py_NewRef(show_buffer);
    self->name_optimizer = Py_NewRef(name_optimizer);
    self->gradient_steps = core_counter(core, "gradient_steps");
    self->samples = core_counter(core, "samples");
    self->sequences = core_counter(core, "sequences");
    self->iterations = core_counter(core, "iterations");
    if (PyErr_Occurred()) {
        Py_CLEAR(self);
    }
    return (PyObject *)self;
}

static void
updates_end(PyObject *self)
{
    optimizers_end(&((Updates *)self)->optimizers);
}

REFERENCES(updates, offsetof(Updates, show_loss), offsetof(Updates, show_buffer),
           offsetof(Updates, name_optimizer), offsetof(Updates, order))

#define NOTE(name) \
    {#name, (PyCFunction)(void (*)(void))name, METH_FASTCALL | METH_KEYWORDS, name##_doc}

int
updates_is_note(PyObject *note)
{
    return PyCFunction_CheckExact(note) && PyCFunction_GET_SELF(note) != NULL &&
           Py_IS_TYPE(PyCFunction_GET_SELF(note), &UpdatesType) &&
           PyCFunction_GET_FUNCTION(note) != (PyCFunction)(void (*)(void))after_step &&
           PyCFunction_GET_FUNCTION(note) != (PyCFunction)(void (*)(void))after_rollout;
}

static PyMethodDef updates_methods[] = {
    NOTE(after_backward),
    NOTE(after_step),
    NOTE(after_forward),
    NOTE(after_rollout),
    NOTE(after_sample),
    NOTE(after_minibatch),
    {"forward", (PyCFunction)method_forward, METH_VARARGS, forward_doc},
    {"backward", (PyCFunction)method_backward, METH_NOARGS, backward_doc},
    {"optimizer", (PyCFunction)method_optimizer, METH_O, optimizer_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject UpdatesType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Updates",
    .tp_doc = "Updates(order, show_loss, show_buffer, name_optimizer): gradient steps and their batches.",
    .tp_basicsize = sizeof(Updates),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = updates_new,
    .tp_methods = updates_methods,
    .tp_getset = updates_getset,
    .tp_traverse = updates_traverse,
    .tp_dealloc = updates_dealloc,
};
