/* Region, the context manager that programs see: entering it allocates nothing. */

#include "core_methods.h"
#include "timed.h"

/* ---- __enter__ and __exit__ without a bound method each time ---- */

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    Region *region;
} RegionCall;

static PyObject *
call_enter(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    (void)args, (void)nargsf, (void)names;
    Region *region = ((RegionCall *)self)->region;
    if (region == NULL) {
        Py_RETURN_NONE; /* cleared by the garbage collector */
    }
    if (region->core != NULL && region->core->enabled) {
        region_enter(region);
        if (RARELY(region->core->arrived != NULL) && region_raise_arrived(region) < 0) {
            return NULL;
        }
    }
    Py_INCREF(region);
    return (PyObject *)region;
}

static PyObject *
call_exit(PyObject *self, PyObject *const *args, size_t nargsf, PyObject *names)
{
    (void)args, (void)nargsf, (void)names;
    Region *region = ((RegionCall *)self)->region;
    if (region != NULL && region->core != NULL) {
        region_exit(region);
    }
    Py_RETURN_NONE;
}

static PyObject *
region_call_new(Region *region, vectorcallfunc call)
{
    RegionCall *self = PyObject_GC_New(RegionCall, &RegionCallType);
    if (self == NULL) {
        return NULL;
    }
    self->call = call;
    Py_INCREF(region);
    self->region = region;
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int
region_call_traverse(RegionCall *self, visitproc visit, void *arg)
{
    Py_VISIT(self->region);
    return 0;
}

static int
region_call_clear(RegionCall *self)
{
    Py_CLEAR(self->region);
    return 0;
}

static void
region_call_dealloc(RegionCall *self)
{
    PyObject_GC_UnTrack(self);
    Py_XDECREF(self->region);
    PyObject_GC_Del(self);
}

PyTypeObject RegionCallType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.RegionCall",
    .tp_basicsize = sizeof(RegionCall),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(RegionCall, call),
    .tp_call = PyVectorcall_Call,
    .tp_traverse = (traverseproc)region_call_traverse,
    .tp_clear = (inquiry)region_call_clear,
    .tp_dealloc = (destructor)region_call_dealloc,
};

/* The descriptor that hands out a region's ready-made RegionCall. */
typedef struct {
    PyObject_HEAD
    Py_ssize_t offset;
} RegionMethod;

static PyObject *
region_method_get(PyObject *self, PyObject *region, PyObject *type)
{
    (void)type;
    if (region == NULL) {
        Py_INCREF(self);
        return self;
    }
    PyObject *call = *(PyObject **)((char *)region + ((RegionMethod *)self)->offset);
    Py_INCREF(call);
    return call;
}

PyTypeObject RegionMethodType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.RegionMethod",
    .tp_basicsize = sizeof(RegionMethod),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_descr_get = region_method_get,
};

/* Region's attributes: __enter__, __exit__ and their plain names for hooks. */
int
region_type_add_methods(void)
{
    static const struct {
        const char *name;
        Py_ssize_t offset;
    } methods[] = {
        {"__enter__", offsetof(Region, enter_call)},
        {"__exit__", offsetof(Region, exit_call)},
        {"enter", offsetof(Region, enter_call)},
        {"exit", offsetof(Region, exit_call)},
    };
    for (size_t i = 0; i < sizeof(methods) / sizeof(methods[0]); i++) {
        RegionMethod *method = PyObject_New(RegionMethod, &RegionMethodType);
        if (method == NULL) {
            return -1;
        }
        method->offset = methods[i].offset;
        int failed = PyDict_SetItemString(RegionType.tp_dict, methods[i].name, (PyObject *)method);
        Py_DECREF(method);
        if (failed) {
            return -1;
        }
    }
    PyType_Modified(&RegionType);
    return 0;
}

/* ---- Region ---- */

Region *
region_new(Core *core, PyObject *name, uint32_t flags)
{
    Region *region = PyObject_GC_New(Region, &RegionType);
    if (region == NULL) {
        return NULL;
    }
    Py_XINCREF(core);
    region->core = core;
    Py_INCREF(name);
    region->name = name;
    region->flags = flags;
    region->enter_call = NULL;
    region->exit_call = NULL;
    region->longest_ns = 0;
    region->parent = region->node = NULL;
    region->nested = 0;
    region->entered = 0;
    PyObject_GC_Track(region);
    region->enter_call = region_call_new(region, call_enter);
    region->exit_call = region_call_new(region, call_exit);
    if (region->enter_call == NULL || region->exit_call == NULL) {
        Py_DECREF(region);
        return NULL;
    }
    return region;
}

static int
region_traverse(Region *self, visitproc visit, void *arg)
{
    Py_VISIT(self->core);
    Py_VISIT(self->enter_call);
    Py_VISIT(self->exit_call);
    return 0;
}

static int
region_clear(Region *self)
{
    Py_CLEAR(self->enter_call);
    Py_CLEAR(self->exit_call);
    Py_CLEAR(self->core);
    return 0;
}

static void
region_dealloc(Region *self)
{
    PyObject_GC_UnTrack(self);
    region_clear(self);
    Py_CLEAR(self->name);
    PyObject_GC_Del(self);
}

PyDoc_STRVAR(region_wrap_doc,
"wrap(function, after=None, outermost=False, always=False, instead=None)\n--\n\n"
"`function` inside this region. `after(result, *args, **kwargs)` runs when it returned, outside\n"
"the region; an error in it is kept in `failures` and `after` is dropped. With `outermost`, a\n"
"call inside this same region is neither timed nor noted again; with `always`, it is noted.\n"
"`instead` runs in place of an outermost call and does its own timing: a recursion adds no frame.");

static PyObject *
region_wrap(Region *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"function", "after", "outermost", "always", "instead", NULL};
    PyObject *function, *after = Py_None, *instead = Py_None;
    int outermost = 0, always = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|OppO", names, &function, &after, &outermost,
                                     &always, &instead)) {
        return NULL;
    }
    if (self->core == NULL) {
        return Py_NewRef(function); /* the region that does nothing */
    }
    Timed *timed = PyObject_GC_New(Timed, &TimedType);
    if (timed == NULL) {
        return NULL;
    }
    timed->call = timed_call;
    Py_INCREF(function);
    timed->function = function;
    timed->after = after == Py_None ? NULL : after;
    Py_XINCREF(timed->after);
    timed->instead = instead == Py_None ? NULL : instead;
    Py_XINCREF(timed->instead);
    Py_INCREF(self);
    timed->region = self;
    timed->outermost = outermost || timed->instead != NULL;
    timed->always = always;
    timed->leads = timed->around = 0;
    timed->inside = 0;
    timed->counts = after != Py_None && !events_is_note(after) && !updates_is_note(after);
    PyObject_GC_Track(timed);
    return (PyObject *)timed;
}

static PyObject *
region_repr(Region *self)
{
    return PyUnicode_FromFormat("<Region %R>", self->name);
}

/* A region is found again by its name. */
static PyObject *
region_reduce(Region *self, PyObject *unused)
{
    (void)unused;
    PyObject *core = (PyObject *)self->core;
    PyObject *find = core != NULL ? PyObject_GetAttrString(core, "region") : NULL;
    if (find == NULL) {
        PyErr_SetString(PyExc_TypeError, "a region that is off cannot be pickled");
        return NULL;
    }
    return Py_BuildValue("(N(O))", find, self->name);
}

static PyMethodDef region_methods[] = {
    {"gap", (PyCFunction)region_gap, METH_NOARGS, region_gap_doc},
    {"__reduce__", (PyCFunction)region_reduce, METH_NOARGS, NULL},
    {"wrap", (PyCFunction)(void (*)(void))region_wrap, METH_VARARGS | METH_KEYWORDS, region_wrap_doc},
    {NULL, NULL, 0, NULL},
};

static PyObject *
region_get_name(Region *self, void *closure)
{
    (void)closure;
    Py_INCREF(self->name);
    return self->name;
}

static PyObject *
region_get_entered(Region *self, void *closure)
{
    (void)closure;
    return PyLong_FromUnsignedLongLong(self->entered);
}

static PyGetSetDef region_getset[] = {
    {"entered", (getter)region_get_entered, NULL, "How often it was entered.", NULL},
    {"name", (getter)region_get_name, NULL, "The region's name.", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject RegionType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "hotloop.measure._native.Region",
    .tp_doc = "A named piece of code: a context manager that can be entered any number of times.",
    .tp_basicsize = sizeof(Region),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_methods = region_methods,
    .tp_getset = region_getset,
    .tp_repr = (reprfunc)region_repr,
    .tp_traverse = (traverseproc)region_traverse,
    .tp_clear = (inquiry)region_clear,
    .tp_dealloc = (destructor)region_dealloc,
};
