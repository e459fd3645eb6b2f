#include "objects.h"

/* Only types created while Python runs, as extensions create theirs. Python's own are excluded:
 * a bound method has such a slot too, but it is gone after one call. A type with a `tp_call` of its
 * own may be called without its slot. */
vectorcallfunc *
object_slot(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_call != PyVectorcall_Call ||
        !PyType_SUPPORTS_WEAKREFS(type) || PyVectorcall_Function(object) == NULL) {
        return NULL;
    }
    return (vectorcallfunc *)((char *)object + type->tp_vectorcall_offset);
}

PyObject *
object_watch(PyObject *object, PyMethodDef *died)
{
    PyObject *address = PyLong_FromVoidPtr(object);
    PyObject *callback = address != NULL ? PyCFunction_New(died, address) : NULL;
    PyObject *weak = callback != NULL ? PyWeakref_NewRef(object, callback) : NULL;
    Py_XDECREF(address);
    Py_XDECREF(callback);
    return weak;
}

PyObject *
object_watched(PyObject *weak)
{
#if PY_VERSION_HEX >= 0x030D0000
    PyObject *object;
    int found = PyWeakref_GetRef(weak, &object);
#else
    PyObject *object = PyWeakref_GetObject(weak);
    int found = object != Py_None;
    Py_INCREF(object);
    if (!found) {
        Py_CLEAR(object);
    }
#endif
    if (found == 0) {
        PyErr_SetString(PyExc_ReferenceError, "the hooked object no longer exists");
    }
    return object;
}
