/* Reports when a subclass of a class that hotloop follows is created.
 *
 * Python calls `__init_subclass__` of every new class's parent, in the end `object`'s, which does
 * nothing. That method is replaced in place, so that no class of a library gets an attribute that
 * a program could find (`vars(gymnasium.Env)`) or save. */

#include "core.h"

static PyMethodDescrObject *descriptor; /* object.__init_subclass__ while it is replaced */
static PyMethodDef *had;
static PyMethodDef has;
static PyObject *followed; /* a tuple of classes */
static PyObject *callback;

static int
is_followed(PyObject *mro)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(mro); i++) {
        for (Py_ssize_t j = 0; j < PyTuple_GET_SIZE(followed); j++) {
            if (PyTuple_GET_ITEM(mro, i) == PyTuple_GET_ITEM(followed, j)) {
                return 1;
            }
        }
    }
    return 0;
}

static PyObject *
class_was_made(PyObject *cls, PyObject *unused)
{
    PyObject *result = had->ml_meth(cls, unused);
    if (result == NULL || followed == NULL || !PyType_Check(cls)) {
        return result;
    }
    PyObject *mro = ((PyTypeObject *)cls)->tp_mro;
    if (mro == NULL || !PyTuple_Check(mro) || !is_followed(mro)) {
        return result;
    }
    PyObject *call = Py_NewRef(callback);
    PyObject *answer = hidden_call_one(call, cls);
    Py_DECREF(call);
    if (answer == NULL) {
        Py_CLEAR(result); /* Ctrl-C: the callback keeps hotloop's own errors to itself */
    }
    Py_XDECREF(answer);
    return result;
}

/* -1 with an exception. */
static int
replace_method(void)
{
    PyObject *names = PyObject_GetAttrString((PyObject *)&PyBaseObject_Type, "__dict__");
    PyObject *found = names != NULL ? PyMapping_GetItemString(names, "__init_subclass__") : NULL;
    Py_XDECREF(names);
    if (found == NULL) {
        return -1;
    }
    PyMethodDef *method = Py_TYPE(found) == &PyClassMethodDescr_Type
                              ? ((PyMethodDescrObject *)found)->d_method
                              : NULL;
    if (method == NULL || method->ml_flags != (METH_CLASS | METH_NOARGS)) {
        Py_DECREF(found);
        PyErr_SetString(PyExc_NotImplementedError, "object.__init_subclass__ is another kind of method");
        return -1;
    }
    descriptor = (PyMethodDescrObject *)found;
    had = method;
    has = *had;
    has.ml_meth = class_was_made;
    descriptor->d_method = &has;
    return 0;
}

PyDoc_STRVAR(follow_doc,
"follow_subclasses(classes, callback)\n--\n\n"
"Call `callback` with every class that is made below one of these. With no classes: stop that.");

static PyObject *
follow_subclasses(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *classes, *call;
    if (!PyArg_ParseTuple(args, "O!O", &PyTuple_Type, &classes, &call)) {
        return NULL;
    }
    if (descriptor == NULL && PyTuple_GET_SIZE(classes) > 0 && replace_method() < 0) {
        return NULL;
    }
    Py_XSETREF(followed, Py_NewRef(classes));
    Py_XSETREF(callback, Py_NewRef(call));
    if (descriptor != NULL && PyTuple_GET_SIZE(classes) == 0) {
        /* A builtin that was bound meanwhile keeps `has`, which stays callable. */
        descriptor->d_method = had;
        Py_CLEAR(descriptor);
        Py_CLEAR(followed);
        Py_CLEAR(callback);
    }
    Py_RETURN_NONE;
}

PyMethodDef subclasses_methods[] = {
    {"follow_subclasses", follow_subclasses, METH_VARARGS, follow_doc},
    {NULL, NULL, 0, NULL},
};
