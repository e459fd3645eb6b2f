#include "batches.h"

static PyObject *shape_name, *function_name;
static PyObject *plain_function; /* what torch's own tensors do with `__torch_function__` */

void
batches_know(PyTypeObject *tensor)
{
    if (function_name == NULL) {
        function_name = PyUnicode_InternFromString("__torch_function__");
    }
    plain_function = function_name != NULL ? _PyType_Lookup(tensor, function_name) : NULL;
}

/* Whether a class of tensors hears of every question. Parameters have a builtin that says no. */
static int
is_told(PyTypeObject *type)
{
    PyObject *found = function_name != NULL ? _PyType_Lookup(type, function_name) : NULL;
    return found != NULL && found != plain_function && !PyCFunction_Check(found);
}

/* -1 for a symbol of torch's exporters, which must not be turned into a number. */
static long long
dimension(PyObject *shape, Py_ssize_t i)
{
    PyObject *size = PyTuple_GET_ITEM(shape, i);
    return PyLong_CheckExact(size) ? PyLong_AsLongLong(size) : -1;
}

Leading
leading_of(PyObject *tensor)
{
    Leading leading = {0, 0, 0};
    if (is_told(Py_TYPE(tensor))) {
        return leading;
    }
    if (shape_name == NULL) {
        shape_name = PyUnicode_InternFromString("shape");
    }
    PyObject *shape = shape_name != NULL ? PyObject_GetAttr(tensor, shape_name) : NULL;
    if (shape == NULL) {
        if (PyErr_ExceptionMatches(PyExc_AttributeError)) {
            PyErr_Clear();
        }
        return leading;
    }
    if (PyTuple_Check(shape)) { /* torch.Size is one */
        leading.dimensions = (int)PyTuple_GET_SIZE(shape) + 1;
        leading.first = leading.dimensions > 2 ? dimension(shape, 0) : 1;
        leading.second = leading.dimensions > 3 ? dimension(shape, 1) : 1;
    }
    Py_DECREF(shape);
    return leading;
}

int
are_sequences(Leading given, PyObject *result)
{
    if (PyTuple_Check(result) && PyTuple_GET_SIZE(result) > 0) {
        result = PyTuple_GET_ITEM(result, 0); /* a recurrent network also returns its state */
    }
    Leading made = leading_of(result);
    return made.dimensions == given.dimensions && made.first == given.first && made.second == given.second;
}
