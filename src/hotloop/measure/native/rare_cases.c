/* Hooks of functions that are called several times per step but matter only occasionally. C decides when,
 * because Python code takes several times longer if the caches are cold.
 *
 * `CompiledRuns` is around torch's `set_eval_frame`, which every step of an optimizer calls;
 * `ListCalls` is around `torch.tensor` and `torch.as_tensor`. */

#include "inplace.h"
#include "references.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *original;
    PyObject *python; /* of ListCalls */
} RareCase;

static PyObject *
runs_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    PyObject *original = Py_NewRef(((RareCase *)callable)->original);
    PyObject *before = PyObject_Vectorcall(original, args, nargsf, names);
    if (before != NULL && PyVectorcall_NARGS(nargsf) == 1) {
        int change = PyCallable_Check(args[0]) - PyCallable_Check(before);
        if (change != 0) {
            inplace_compiler(0, change);
            hidden_from_compiler(change, original);
        }
    }
    Py_DECREF(original);
    return before;
}

/* A list or a tuple is given, or a keyword (which may be a device). */
static int
is_rare(PyObject *const *args, size_t nargsf, PyObject *names)
{
    Py_ssize_t keywords = names != NULL ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t i = 0; i < keywords; i++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, i), "device") == 0) {
            return 1;
        }
    }
    return PyVectorcall_NARGS(nargsf) > 0 &&
           (PyList_CheckExact(args[0]) || PyTuple_CheckExact(args[0]));
}

static PyObject *
list_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    RareCase *self = (RareCase *)callable;
    int rare = is_rare(args, nargsf, names);
    PyObject *chosen = Py_NewRef(rare ? self->python : self->original);
    PyObject *result = rare ? call_python_hook(chosen, args, nargsf, names)
                            : PyObject_Vectorcall(chosen, args, nargsf, names);
    Py_DECREF(chosen);
    return result;
}

static PyObject *
rare_new(PyTypeObject *type, PyObject *original, PyObject *python, vectorcallfunc call)
{
    RareCase *self = (RareCase *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->original = Py_NewRef(original);
        self->python = Py_NewRef(python);
        self->call = call;
    }
    return (PyObject *)self;
}

static PyObject *
runs_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *original;
    return PARSE(args, kwargs, "O:CompiledRuns", &original)
               ? rare_new(type, original, Py_None, runs_call)
               : NULL;
}

static PyObject *
list_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    PyObject *original, *python;
    return PARSE(args, kwargs, "OO:ListCalls", &original, &python)
               ? rare_new(type, original, python, list_call)
               : NULL;
}

NOTHING_ELSE_ENDS(rare)
REFERENCES(rare, offsetof(RareCase, original), offsetof(RareCase, python))

#define RARE_CASE(name, doc, new)                                                            \
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "hotloop.measure._native." name, .tp_doc = doc, \
    .tp_basicsize = sizeof(RareCase),                                                        \
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,        \
    .tp_new = new, .tp_traverse = rare_traverse, .tp_dealloc = rare_dealloc,                 \
    .tp_call = PyVectorcall_Call, .tp_vectorcall_offset = offsetof(RareCase, call)

PyTypeObject CompiledRunsType = {
    RARE_CASE("CompiledRuns",
              "CompiledRuns(original): `set_eval_frame`; the hooks learn when compiled code runs.",
              runs_new)};

PyTypeObject ListCallsType = {
    RARE_CASE("ListCalls",
              "ListCalls(original, python): calls `python` with a list, a tuple or a device.",
              list_new)};
