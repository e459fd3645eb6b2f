/* Callable objects with a vectorcall slot of their own, such as the jitted functions of JAX. */
#ifndef HOTLOOP_OBJECTS_H
#define HOTLOOP_OBJECTS_H

#include <Python.h>

/* Where an object keeps its vectorcall. NULL: it has none, or not every call goes through it. */
vectorcallfunc *object_slot(PyObject *object);
/* A weak reference. As the object dies, `died` is called with its address (an int) and with the
 * reference; the object's memory is still there then. */
PyObject *object_watch(PyObject *object, PyMethodDef *died);
/* A new reference to what is watched; NULL with a ReferenceError if it is gone. */
PyObject *object_watched(PyObject *weak);

#endif
