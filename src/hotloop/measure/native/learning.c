/* Learning: what is noted of gradients, and of the batches that they come from. `hotloop.hooks.batch`
 * is the same in Python, and says more. Each of these notes runs once an update or oftener, when all
 * that Python needs for as much has long left the processor's caches. */

#include "learning.h"

/* The same as in hotloop.hooks.batch. */
#define MOST_NETWORKS 64
#define SHOWN_LOSSES 31
#define SHOWN_SAMPLES 61

typedef struct {
    PyObject *who; /* the number of a network or an optimizer, as Python's `id` gives it */
    long long rows;
} Seen;

typedef struct {
    Seen all[MOST_NETWORKS];
    int count;
} Table;

struct Learning {
    PyObject_HEAD
    Order *order;
    PyObject *show_loss;   /* called with one loss in so many */
    PyObject *show_buffer; /* and with the buffer of one batch in so many */
    Counter *gradient_steps;
    Counter *samples;
    Counter *iterations;
    Table now;   /* rows that each network has seen since the last backward pass */
    Table sum;   /* and in the backward passes since the last gradient step */
    Table round; /* optimizers that have stepped */
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

/* NULL where there are too many to be told apart. */
static Seen *
find_or_add(Table *table, void *who)
{
    Seen *seen = find(table, who);
    if (seen == NULL && table->count < MOST_NETWORKS) {
        seen = &table->all[table->count++];
        *seen = (Seen){who, 0};
    }
    return seen;
}

static void
add_up(Learning *self)
{
    for (int i = 0; i < self->now.count; i++) {
        Seen *seen = find_or_add(&self->sum, self->now.all[i].who);
        if (seen != NULL) {
            seen->rows += self->now.all[i].rows;
        }
    }
    self->now.count = 0;
}

static long long
rows_of_step(Learning *self)
{
    Order *order = self->order;
    if (order->told) {
        return order->told;
    }
    add_up(self);
    long long most = 0;
    for (int i = 0; i < self->sum.count; i++) {
        most = self->sum.all[i].rows > most ? self->sum.all[i].rows : most;
    }
    return most ? most : (order->steps ? order->steps : order->steps_before) * order->envs;
}

static int
stepped(Learning *self, void *optimizer)
{
    Core *core = self->order->core;
    long long rows = rows_of_step(self);
    self->order->told = 0;
    self->sum.count = 0;
    if (find(&self->round, optimizer) != NULL || self->round.count == MOST_NETWORKS) {
        self->round.count = 0;
    }
    int first = self->round.count == 0;
    find_or_add(&self->round, optimizer);
    if (!first) {
        return 0;
    }
    if (counter_add(core, self->gradient_steps, 1) < 0) {
        return -1;
    }
    return rows ? counter_add(core, self->samples, rows) : 0;
}

static PyObject *
none_or_error(int failed)
{
    if (failed < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* Whether one in so many is shown: the first, and then each so manieth. */
static int
is_shown(unsigned *count, unsigned often)
{
    unsigned before = *count;
    *count = before + 1 < often ? before + 1 : 0;
    return before == 0;
}

/* ---- notes after functions ---- */

PyDoc_STRVAR(learning_after_backward_doc,
"after_backward(result, loss=None, *_, **__)\n--\n\nA backward pass is over.");

static PyObject *
learning_after_backward(Learning *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    (void)names;
    add_up(self);
    if (order_tell(self->order, BACKWARD) < 0) {
        return NULL;
    }
    if (is_shown(&self->losses, SHOWN_LOSSES)) {
        PyObject *answer = PyObject_CallOneArg(self->show_loss, nargs > 1 ? args[1] : Py_None);
        Py_XDECREF(answer);
        return none_or_error(answer == NULL ? -1 : 0);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(learning_after_step_doc,
"after_step(result, optimizer, *_, **__)\n--\n\nAn optimizer has stepped.");

static PyObject *
learning_after_step(Learning *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    (void)names;
    int failed = stepped(self, nargs > 1 ? args[1] : Py_None);
    return none_or_error(failed < 0 ? failed : order_tell(self->order, OPTIMIZER));
}

PyDoc_STRVAR(learning_after_forward_doc,
"after_forward(*_, **__)\n--\n\nA library's learning pass is over; what follows is the loss.");

static PyObject *
learning_after_forward(Learning *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    (void)args, (void)nargs, (void)names;
    int over = order_is_over(self->order);
    return none_or_error(over ? 0 : order_in_learn(self->order, FORWARD));
}

PyDoc_STRVAR(learning_after_rollout_doc,
"after_rollout(*_, **__)\n--\n\nA library has collected what it learns from next.");

static PyObject *
learning_after_rollout(Learning *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    (void)args, (void)nargs, (void)names;
    return none_or_error(counter_add(self->order->core, self->iterations, 1));
}

/* An argument by its place, or by its name. */
static PyObject *
argument(PyObject *const *args, Py_ssize_t nargs, PyObject *names, Py_ssize_t place,
         const char *name)
{
    if (nargs > place) {
        return args[place];
    }
    for (Py_ssize_t i = 0; names != NULL && i < PyTuple_GET_SIZE(names); i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), name) == 0) {
            return args[nargs + i];
        }
    }
    PyErr_Format(PyExc_TypeError, "no %s", name);
    return NULL;
}

PyDoc_STRVAR(learning_after_sample_doc,
"after_sample(result, buffer, batch_size, *_, **__)\n--\n\n"
"A batch of so many rows was drawn from a replay buffer.");

static PyObject *
learning_after_sample(Learning *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    PyObject *size = argument(args, nargs, names, 2, "batch_size");
    long long rows = size != NULL ? PyLong_AsLongLong(size) : -1;
    if (rows == -1 && PyErr_Occurred()) {
        return NULL;
    }
    self->order->told = rows;
    if (is_shown(&self->batches, SHOWN_SAMPLES) && nargs > 1) {
        PyObject *answer = PyObject_CallOneArg(self->show_buffer, args[1]);
        Py_XDECREF(answer);
        return none_or_error(answer == NULL ? -1 : 0);
    }
    Py_RETURN_NONE;
}

PyDoc_STRVAR(learning_after_minibatch_doc,
"after_minibatch(result, buffer, batch_inds, *_, **__)\n--\n\n"
"A minibatch of the rows with these numbers was taken from a rollout.");

static PyObject *
learning_after_minibatch(Learning *self, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    PyObject *indices = argument(args, nargs, names, 2, "batch_inds");
    Py_ssize_t rows = indices != NULL ? PyObject_Size(indices) : -1;
    if (rows < 0) {
        return NULL;
    }
    self->order->told = rows;
    Py_RETURN_NONE;
}

/* ---- what other hooks tell ---- */

void
learning_saw(Learning *self, PyObject *network, long long rows)
{
    Seen *seen = find_or_add(&self->now, network);
    if (seen != NULL && rows > seen->rows) {
        seen->rows = rows;
    }
}

PyDoc_STRVAR(learning_forward_doc,
"forward(network, rows)\n--\n\nA network, by its number, was called with gradients on so many rows.");

static PyObject *
learning_forward(Learning *self, PyObject *args)
{
    PyObject *number;
    long long rows;
    if (!PyArg_ParseTuple(args, "O!L", &PyLong_Type, &number, &rows)) {
        return NULL;
    }
    void *who = PyLong_AsVoidPtr(number);
    if (who == NULL && PyErr_Occurred()) {
        return NULL;
    }
    learning_saw(self, who, rows);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(learning_backward_doc, "backward()\n--\n\nA backward pass is over.");

static PyObject *
learning_backward(Learning *self, PyObject *unused)
{
    (void)unused;
    add_up(self);
    Py_RETURN_NONE;
}

PyDoc_STRVAR(learning_optimizer_doc,
"optimizer(optimizer)\n--\n\nAn optimizer, by its number, has stepped.");

static PyObject *
learning_optimizer(Learning *self, PyObject *number)
{
    void *who = PyLong_AsVoidPtr(number);
    if (who == NULL && PyErr_Occurred()) {
        return NULL;
    }
    return none_or_error(stepped(self, who));
}

PyDoc_STRVAR(learning_forget_doc, "forget()\n--\n\nWhat was seen so far is not part of what comes.");

static PyObject *
learning_forget(Learning *self, PyObject *unused)
{
    (void)unused;
    self->now.count = self->sum.count = self->round.count = 0;
    self->losses = self->batches = 0;
    self->order->told = 0;
    Py_RETURN_NONE;
}

/* Rows that a table knows better, for the next gradient step: the order's. */
static PyObject *
learning_get_told(Learning *self, void *closure)
{
    (void)closure;
    return PyLong_FromLongLong(self->order->told);
}

static int
learning_set_told(Learning *self, PyObject *value, void *closure)
{
    (void)closure;
    long long rows = value != NULL ? PyLong_AsLongLong(value) : 0;
    if (rows == -1 && PyErr_Occurred()) {
        return -1;
    }
    self->order->told = rows;
    return 0;
}

static PyObject *
learning_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *order, *show_loss, *show_buffer;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!OO", &OrderType, &order, &show_loss, &show_buffer)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Learning takes no keywords");
        }
        return NULL;
    }
    Core *core = ((Order *)order)->core;
    if (core == NULL) {
        PyErr_SetString(PyExc_TypeError, "an Order that has begun");
        return NULL;
    }
    Counter *gradient_steps = core_counter(core, "gradient_steps");
    Counter *samples = core_counter(core, "samples");
    Counter *iterations = core_counter(core, "iterations");
    if (gradient_steps == NULL || samples == NULL || iterations == NULL) {
        return NULL;
    }
    Learning *self = (Learning *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    Py_INCREF(order);
    Py_INCREF(show_loss);
    Py_INCREF(show_buffer);
    self->order = (Order *)order;
    self->show_loss = show_loss;
    self->show_buffer = show_buffer;
    self->gradient_steps = gradient_steps;
    self->samples = samples;
    self->iterations = iterations;
    return (PyObject *)self;
}

static int
learning_traverse(Learning *self, visitproc visit, void *arg)
{
    Py_VISIT(self->order);
    Py_VISIT(self->show_loss);
    Py_VISIT(self->show_buffer);
    return 0;
}

static void
learning_dealloc(Learning *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->order);
    Py_XDECREF(self->show_loss);
    Py_XDECREF(self->show_buffer);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

#define NOTE(name)                                                                     \
    {#name, (PyCFunction)(void (*)(void))learning_##name, METH_FASTCALL | METH_KEYWORDS, \
     learning_##name##_doc}

static PyMethodDef learning_methods[] = {
    NOTE(after_backward),
    NOTE(after_step),
    NOTE(after_forward),
    NOTE(after_rollout),
    NOTE(after_sample),
    NOTE(after_minibatch),
    {"forward", (PyCFunction)learning_forward, METH_VARARGS, learning_forward_doc},
    {"backward", (PyCFunction)learning_backward, METH_NOARGS, learning_backward_doc},
    {"optimizer", (PyCFunction)learning_optimizer, METH_O, learning_optimizer_doc},
    {"forget", (PyCFunction)learning_forget, METH_NOARGS, learning_forget_doc},
    {NULL, NULL, 0, NULL},
};

static PyGetSetDef learning_getset[] = {
    {"told", (getter)learning_get_told, (setter)learning_set_told,
     "Rows that a table knows better, for the next gradient step.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject LearningType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Learning",
    .tp_doc = "Learning(order, show_loss, show_buffer): see hotloop.hooks.batch.",
    .tp_basicsize = sizeof(Learning),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = learning_new,
    .tp_methods = learning_methods,
    .tp_getset = learning_getset,
    .tp_traverse = (traverseproc)learning_traverse,
    .tp_dealloc = (destructor)learning_dealloc,
};
