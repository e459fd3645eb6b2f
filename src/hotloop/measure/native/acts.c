/* Acts: the outermost call of a torch network that chooses an action in a plain loop, the most
 * frequent thing that hooks see. Whatever is not exactly that goes to the hook in Python
 * (`hotloop.hooks.torch`), and so does one call in so many, which looks at the answer. */

#include "order.h"

/* One call in so many is looked at; hotloop.hooks.graphs looks at as many answers. */
#define LOOKED_AT 32

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Order *order;
    Region *act;
    PyObject *original;  /* Module.__call__ as it was */
    PyObject *inside;    /* [whether a network is being called] */
    PyObject *plain;     /* class -> None where calls of it are no phase of their own */
    PyObject *actors;    /* ids of the networks that have acted */
    PyObject *gradients; /* torch.is_grad_enabled */
    PyObject *slow;      /* the hook in Python */
    PyObject *shape;     /* "shape" */
    int broken;          /* the order could not be told: all calls go to the hook */
    int unseen;          /* calls since the last that went to the hook in Python */
    long long skipped;   /* calls that it has not been told of */
} Acts;

/* The rows of the first argument, as the hook in Python counts them; -1 if it must, with an exception
 * or without. */
static long long
rows_of(Acts *self, PyObject *args)
{
    if (PyTuple_GET_SIZE(args) == 0) {
        return -1;
    }
    PyObject *shape = PyObject_GetAttr(PyTuple_GET_ITEM(args, 0), self->shape);
    if (shape == NULL) {
        return -1;
    }
    long long rows = -1;
    if (PyTuple_Check(shape)) { /* torch.Size is one */
        rows = 1;
        if (PyTuple_GET_SIZE(shape) > 1) {
            rows = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, 0));
            rows = rows == 0 ? 1 : rows;
        }
    }
    Py_DECREF(shape);
    return rows;
}

/* Whether this call is one more of a network that is known to act. Exceptions are the caller's. */
static int
acts_again(Acts *self, PyObject *module, PyObject *args)
{
    Order *order = self->order;
    Core *core = order->core;
    if (self->broken || order->judge == NULL || self->act->core == NULL) {
        return 0; /* something went wrong, or the garbage collector has been here */
    }
    if (!core->enabled || !order->envs || order->last > ACT || order->last == SAMPLE ||
        PyThread_get_thread_ident() != order->thread) {
        return 0;
    }
    Thread *thread = core_thread(core);
    if (thread == NULL) {
        return 0;
    }
    Stack *stack = thread_stack(thread);
    if (stack->depth > (stack_in_gap(stack) ? 1u : 0u)) {
        return 0;
    }
    if (PyDict_GetItemWithError(self->plain, (PyObject *)Py_TYPE(module)) != Py_None) {
        return 0;
    }
    PyObject *id = PyLong_FromVoidPtr(module);
    int known = id != NULL ? PySet_Contains(self->actors, id) : -1;
    Py_XDECREF(id);
    if (known != 1) {
        return 0;
    }
    PyObject *gradients = PyObject_CallNoArgs(self->gradients);
    int without = gradients == Py_False;
    Py_XDECREF(gradients);
    if (!without || rows_of(self, args) != order->envs) {
        return 0;
    }
    self->unseen = (self->unseen + 1) % LOOKED_AT;
    return self->unseen != 0;
}

#define FEW_ARGS 8

static PyObject *
call_original(Acts *self, PyObject *module, PyObject *args, PyObject *kwargs)
{
    Py_ssize_t count = PyTuple_GET_SIZE(args);
    PyObject *few[FEW_ARGS + 1];
    PyObject **all = few;
    if (count > FEW_ARGS) {
        all = PyMem_Malloc((size_t)(count + 1) * sizeof(PyObject *));
        if (all == NULL) {
            return PyErr_NoMemory();
        }
    }
    all[0] = module;
    for (Py_ssize_t i = 0; i < count; i++) {
        all[i + 1] = PyTuple_GET_ITEM(args, i);
    }
    PyObject *result = PyObject_VectorcallDict(self->original, all, (size_t)count + 1, kwargs);
    if (all != few) {
        PyMem_Free(all);
    }
    return result;
}

static void
set_inside(Acts *self, PyObject *value)
{
    Py_INCREF(value);
    if (PyList_SetItem(self->inside, 0, value) < 0) {
        PyErr_Clear();
    }
}

/* The order is told. -1 with what is no error but only happened to arrive there. */
static int
tell(Acts *self)
{
    Order *order = self->order;
    Core *core = order->core;
    Thread *thread = core_thread(core);
    uint64_t last = thread != NULL ? thread->last : 0;
    core->noting = 1;
    int failed = order->judge != NULL && order_event(order, ACT) < 0;
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

/* acts(module, args, kwargs): what the hook in Python is called with. */
static PyObject *
acts_call(PyObject *callable, PyObject *const *given, size_t nargsf, PyObject *names)
{
    Acts *self = (Acts *)callable;
    if (PyVectorcall_NARGS(nargsf) != 3 || names != NULL || !PyTuple_Check(given[1]) ||
        !PyDict_Check(given[2])) {
        PyErr_SetString(PyExc_TypeError, "acts(module, args, kwargs)");
        return NULL;
    }
    int again = acts_again(self, given[0], given[1]);
    if (PyErr_Occurred()) {
        /* What is no error (Ctrl-C, an exit) only happened to arrive here: it is the program's. */
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return NULL;
        }
        PyErr_Clear();
        again = 0;
    }
    if (!again) {
        return PyObject_Vectorcall(self->slow, given, nargsf, NULL);
    }
    Order *order = self->order;
    Core *core = order->core;
    self->skipped++;
    order->active = 1;
    set_inside(self, Py_True);
    region_enter(self->act);
    PyObject *result = call_original(self, given[0], given[1], given[2]);
    /* Leaving may call Python, which must not meet the program's error. */
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    region_exit(self->act);
    set_inside(self, Py_False);
    if (result == NULL) {
        PyErr_Restore(type, value, traceback);
        return NULL;
    }
    if (core->enabled && tell(self) < 0) {
        Py_DECREF(result);
        return NULL;
    }
    return result;
}

static PyObject *
acts_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *order, *act, *original, *inside, *plain, *actors, *gradients, *slow;
    if ((kwargs != NULL && PyDict_GET_SIZE(kwargs) > 0) ||
        !PyArg_ParseTuple(args, "O!O!OO!O!O!OO", &OrderType, &order, &RegionType, &act, &original,
                          &PyList_Type, &inside, &PyDict_Type, &plain, &PySet_Type, &actors,
                          &gradients, &slow)) {
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Acts takes no keywords");
        }
        return NULL;
    }
    if (((Order *)order)->core == NULL || ((Region *)act)->core != ((Order *)order)->core) {
        PyErr_SetString(PyExc_TypeError, "a region of the order's core");
        return NULL;
    }
    Acts *self = (Acts *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->shape = PyUnicode_InternFromString("shape");
    if (self->shape == NULL) {
        Py_DECREF(self);
        return NULL;
    }
    Py_INCREF(order);
    Py_INCREF(act);
    Py_INCREF(original);
    Py_INCREF(inside);
    Py_INCREF(plain);
    Py_INCREF(actors);
    Py_INCREF(gradients);
    Py_INCREF(slow);
    self->call = acts_call;
    self->order = (Order *)order;
    self->act = (Region *)act;
    self->original = original;
    self->inside = inside;
    self->plain = plain;
    self->actors = actors;
    self->gradients = gradients;
    self->slow = slow;
    return (PyObject *)self;
}

static int
acts_traverse(Acts *self, visitproc visit, void *arg)
{
    Py_VISIT(self->order);
    Py_VISIT(self->act);
    Py_VISIT(self->original);
    Py_VISIT(self->inside);
    Py_VISIT(self->plain);
    Py_VISIT(self->actors);
    Py_VISIT(self->gradients);
    Py_VISIT(self->slow);
    return 0;
}

static void
acts_dealloc(Acts *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->order);
    Py_XDECREF(self->act);
    Py_XDECREF(self->original);
    Py_XDECREF(self->inside);
    Py_XDECREF(self->plain);
    Py_XDECREF(self->actors);
    Py_XDECREF(self->gradients);
    Py_XDECREF(self->slow);
    Py_XDECREF(self->shape);
    Py_TYPE(self)->tp_free((PyObject *)self);
}

PyDoc_STRVAR(acts_skipped_doc,
"skipped()\n--\n\nHow many calls there were, since this was last asked, that Python did not see.");

static PyObject *
acts_skipped(Acts *self, PyObject *unused)
{
    (void)unused;
    long long skipped = self->skipped;
    self->skipped = 0;
    return PyLong_FromLongLong(skipped);
}

static PyMethodDef acts_methods[] = {
    {"skipped", (PyCFunction)acts_skipped, METH_NOARGS, acts_skipped_doc},
    {NULL, NULL, 0, NULL},
};

PyTypeObject ActsType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Acts",
    .tp_doc = "Acts(order, act, original, inside, plain, actors, gradients, slow)",
    .tp_basicsize = sizeof(Acts),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Acts, call),
    .tp_call = PyVectorcall_Call,
    .tp_new = acts_new,
    .tp_methods = acts_methods,
    .tp_traverse = (traverseproc)acts_traverse,
    .tp_dealloc = (destructor)acts_dealloc,
};
