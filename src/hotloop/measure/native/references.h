/* The references that an object holds, declared once: what its traversal and its end need. */
#ifndef HOTLOOP_REFERENCES_H
#define HOTLOOP_REFERENCES_H

#include "core.h"

#define NO_MORE_REFERENCES ((size_t)-1)

HOTLOOP_INLINE PyObject **
reference_at(PyObject *self, size_t offset)
{
    return (PyObject **)((char *)self + offset);
}

/* Defines type_traverse and type_dealloc for an object whose references are at these offsets. */
#define REFERENCES(type, ...)                                                            \
    static const size_t type##_references[] = {__VA_ARGS__, NO_MORE_REFERENCES};         \
    static int type##_traverse(PyObject *self, visitproc visit, void *arg)               \
    {                                                                                    \
        for (const size_t *each = type##_references; *each != NO_MORE_REFERENCES; each++) { \
            Py_VISIT(*reference_at(self, *each));                                        \
        }                                                                                \
        return 0;                                                                        \
    }                                                                                    \
    static void type##_dealloc(PyObject *self)                                           \
    {                                                                                    \
        PyObject_GC_UnTrack(self);                                                       \
        type##_end(self);                                                                \
        for (const size_t *each = type##_references; *each != NO_MORE_REFERENCES; each++) { \
            Py_CLEAR(*reference_at(self, *each));                                        \
        }                                                                                \
        Py_TYPE(self)->tp_free(self);                                                    \
    }

#define NOTHING_ELSE_ENDS(type)           \
    static void type##_end(PyObject *self) \
    {                                     \
        (void)self;                       \
    }

/* A constructor's arguments by position; keywords are refused. 0 with an exception. */
#define PARSE(args, kwargs, ...) \
    (no_keywords(kwargs) && PyArg_ParseTuple(args, __VA_ARGS__))

HOTLOOP_INLINE int
no_keywords(PyObject *kwargs)
{
    if (kwargs == NULL || PyDict_GET_SIZE(kwargs) == 0) {
        return 1;
    }
    PyErr_SetString(PyExc_TypeError, "arguments are given by position");
    return 0;
}

#endif
