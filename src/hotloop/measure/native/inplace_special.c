/* `__enter__` and `__exit__` of C classes, hooked in place.
 *
 * For `with`, the interpreter makes a bound method out of the definition and calls that; it never
 * asks the descriptor's vectorcall. So the definition itself has to lead to the hooks. It receives
 * the object and the arguments but not the descriptor: each hooked method has an entry of its own.
 * Entries are few, so only these two take one: all other special methods (`__float__` of tensors)
 * are called through the descriptor. */

#include "inplace.h"

#define MOST_SPECIAL 8
#define FEW_ARGUMENTS 8

static Original *special[MOST_SPECIAL];
static int specials;

static PyObject *
special_call(int at, PyObject *object, PyObject *const *args, Py_ssize_t nargs, PyObject *names)
{
    Py_ssize_t all = nargs + (names != NULL ? PyTuple_GET_SIZE(names) : 0);
    PyObject *few[FEW_ARGUMENTS];
    PyObject **with_object = all < FEW_ARGUMENTS ? few : PyMem_New(PyObject *, all + 1);
    if (with_object == NULL) {
        return PyErr_NoMemory();
    }
    with_object[0] = object;
    memcpy(with_object + 1, args, all * sizeof(PyObject *));
    PyObject *result = hooked_call(special[at]->function, with_object, nargs + 1, names);
    if (with_object != few) {
        PyMem_Free(with_object);
    }
    return result;
}

#define SPECIAL(at)                                                                           \
    static PyObject *special_##at(PyObject *object, PyObject *const *args, Py_ssize_t nargs, \
                                  PyObject *names)                                            \
    {                                                                                         \
        return special_call(at, object, args, nargs, names);                                  \
    }

SPECIAL(0)
SPECIAL(1)
SPECIAL(2)
SPECIAL(3)
SPECIAL(4)
SPECIAL(5)
SPECIAL(6)
SPECIAL(7)

static _PyCFunctionFastWithKeywords const entries[MOST_SPECIAL] = {
    special_0, special_1, special_2, special_3, special_4, special_5, special_6, special_7};

static int
is_of_with(const char *name)
{
    return strcmp(name, "__enter__") == 0 || strcmp(name, "__exit__") == 0;
}

void
special_fill(Original *self)
{
    if (specials < MOST_SPECIAL && is_of_with(self->had->ml_name)) {
        self->method.ml_meth = (PyCFunction)(void (*)(void))entries[specials];
        self->method.ml_flags = METH_FASTCALL | METH_KEYWORDS | METH_COEXIST;
        special[specials++] = self; /* methods stay in the table of hooked functions */
    }
}
