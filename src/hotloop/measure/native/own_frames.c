/* Hides hotloop's own frames from the program.
 *
 * The program runs on top of hotloop, and so does a function whose hook is written in Python. While one
 * of these runs, the frames of hotloop below it are taken off the thread's chain and out of its depth.
 * So `inspect.stack()`, tracebacks, `stacklevel` and the recursion limit behave as without hotloop. The
 * frames themselves stay where they are: their owners are the calls in progress. */

#include "own_frames.h"

#include "frames.h"

#if PY_VERSION_HEX >= 0x030D0000
#define CURRENT_FRAME(state) ((state)->current_frame)
#elif PY_VERSION_HEX >= 0x030B0000
#define CURRENT_FRAME(state) ((state)->cframe->current_frame)
#else
#define CURRENT_FRAME(state) ((state)->frame)
#endif

/* The end of every chain. */
#if PY_VERSION_HEX >= 0x030F0000
#define BOTTOM_FRAME(state) ((state)->base_frame)
#else
#define BOTTOM_FRAME(state) NULL
#endif

/* ---- depths ---- */

/* How many calls deep the thread is, by the interpreter's own count. */
static int
python_depth(const PyThreadState *state)
{
#if PY_VERSION_HEX >= 0x030C0000
    return state->py_recursion_limit - state->py_recursion_remaining;
#elif PY_VERSION_HEX >= 0x030B0000
    return state->recursion_limit - state->recursion_remaining;
#else
    return state->recursion_depth;
#endif
}

static void
add_python_depth(PyThreadState *state, int depth)
{
#if PY_VERSION_HEX >= 0x030C0000
    state->py_recursion_remaining -= depth;
#elif PY_VERSION_HEX >= 0x030B0000
    state->recursion_remaining -= depth;
#else
    state->recursion_depth += depth;
#endif
}

/* ---- whose code it is ---- */

enum { KNOWN_FILES = 64 };

static struct {
    PyObject *folder;   /* hotloop's, with a separator at its end; NULL: nothing is known to be own */
    PyObject *programs; /* a folder in it whose code is not hotloop's */
    struct {
        PyObject *file; /* code objects of one module share it */
        int own;
    } known[KNOWN_FILES];
    Layout layout;
    int has_layout;
} own;

static int
is_in(PyObject *file, PyObject *folder)
{
    return PyUnicode_Tailmatch(file, folder, 0, PY_SSIZE_T_MAX, -1) == 1;
}

static int
is_own(PyObject *code)
{
    PyObject *file = ((PyCodeObject *)code)->co_filename;
    uintptr_t mixed = (uintptr_t)file >> 4;
    size_t slot = (mixed ^ (mixed >> 7)) % KNOWN_FILES;
    if (own.known[slot].file != file) {
        PyObject *before = own.known[slot].file;
        own.known[slot].file = Py_NewRef(file);
        own.known[slot].own = is_in(file, own.folder) && !is_in(file, own.programs);
        Py_XDECREF(before);
    }
    return own.known[slot].own;
}

PyDoc_STRVAR(set_own_folder_doc,
"set_own_folder(folder, programs)\n--\n\n"
"Files below `folder` are hotloop's own code, except those below `programs`.");

static PyObject *
set_own_folder(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *folder, *programs;
    if (!PyArg_ParseTuple(args, "UU:set_own_folder", &folder, &programs)) {
        return NULL;
    }
    Py_XSETREF(own.folder, Py_NewRef(folder));
    Py_XSETREF(own.programs, Py_NewRef(programs));
    for (int i = 0; i < KNOWN_FILES; i++) {
        Py_CLEAR(own.known[i].file);
    }
    own.has_layout = HIDES_FRAMES && layout_find(&own.layout);
    Py_RETURN_NONE;
}

/* ---- frames below a call of the program's ---- */

static uintptr_t
field_of(const void *frame, size_t offset)
{
    uintptr_t word;
    memcpy(&word, (const char *)frame + offset, sizeof(word));
    return word;
}

#define OWNED_BY_INTERPRETER 3  /* an entry of the C stack, not a Python function (3.12 and later) */
#define TAG_BITS ((uintptr_t)3) /* of a stack reference (3.14) */

/* Takes hotloop's innermost frames off the chain. */
static void
hide_frames(Aside *aside)
{
#if HIDES_FRAMES
    if (own.folder == NULL || !own.has_layout) {
        return;
    }
    const Layout *layout = &own.layout;
    void *frame = CURRENT_FRAME(aside->state);
    const void *bottom = BOTTOM_FRAME(aside->state);
    aside->frame = frame;
    /* The chain of a greenlet ends in NULL on every version. */
    for (; frame != NULL && frame != bottom; frame = (void *)field_of(frame, layout->frame_previous)) {
        if (layout->frame_owner != NO_FIELD &&
            ((const char *)frame)[layout->frame_owner] >= OWNED_BY_INTERPRETER) {
            continue;
        }
        PyObject *code = (PyObject *)(field_of(frame, layout->frame_code) & ~TAG_BITS);
        if (!PyCode_Check(code) || !is_own(code)) {
            break;
        }
        aside->depth++;
    }
    if (aside->depth > 0) {
        CURRENT_FRAME(aside->state) = frame;
        add_python_depth(aside->state, -aside->depth);
    }
#else
    (void)aside;
#endif
}

int
own_frames_step_aside(Aside *aside)
{
    *aside = (Aside){.state = PyThreadState_Get()};
    hide_frames(aside);
    aside->hidden = hidden_pause(); /* the program is traced, whether there were frames or not */
    return aside->depth > 0 || aside->hidden > 0;
}

void
own_frames_return(const Aside *aside)
{
    hidden_resume(aside->hidden);
#if HIDES_FRAMES
    if (aside->depth > 0) {
        add_python_depth(aside->state, aside->depth);
        CURRENT_FRAME(aside->state) = aside->frame;
    }
#endif
}

/* The traceback of an error that leaves a hook begins where the program called. */
HOTLOOP_COLD void
own_frames_leave_traceback(void)
{
    if (own.folder == NULL) {
        return;
    }
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    while (traceback != NULL && PyTraceBack_Check(traceback)) {
        PyTracebackObject *first = (PyTracebackObject *)traceback;
        PyCodeObject *code = PyFrame_GetCode(first->tb_frame);
        int ours = is_own((PyObject *)code);
        Py_DECREF(code);
        if (!ours) {
            break;
        }
        PyObject *next = Py_XNewRef((PyObject *)first->tb_next);
        Py_DECREF(traceback);
        traceback = next;
    }
    if (value != NULL) {
        PyException_SetTraceback(value, traceback != NULL ? traceback : Py_None);
    }
    PyErr_Restore(type, value, traceback);
}

/* ---- the program itself ---- */

static PyObject *
run(PyObject *const *args, Py_ssize_t count)
{
    if (count == 2 && PyCode_Check(args[0])) {
        return PyEval_EvalCode(args[0], args[1], args[1]);
    }
    return PyObject_Vectorcall(args[0], args + 1, (size_t)count - 1, NULL);
}

PyDoc_STRVAR(run_at_bottom_doc,
"run_at_bottom(code, globals) or run_at_bottom(function, *args)\n--\n\n"
"Run it with no frame below its own.");

static PyObject *
run_at_bottom(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count < 1) {
        PyErr_SetString(PyExc_TypeError, "run_at_bottom needs code or a function");
        return NULL;
    }
#if HIDES_FRAMES
    PyThreadState *state = PyThreadState_Get();
    int depth = python_depth(state);
    void *below = CURRENT_FRAME(state);
    CURRENT_FRAME(state) = BOTTOM_FRAME(state);
    add_python_depth(state, -depth); /* a change, because the program may change the limit */
    PyObject *result = run(args, count);
    add_python_depth(state, depth);
    CURRENT_FRAME(state) = below;
    return result;
#else
    return run(args, count);
#endif
}

PyDoc_STRVAR(print_error_doc,
"print_error(error)\n--\n\n"
"Do with it what Python does with an error that nobody has caught.");

static PyObject *
print_error(PyObject *module, PyObject *error)
{
    (void)module;
    if (!PyExceptionInstance_Check(error)) {
        PyErr_SetString(PyExc_TypeError, "print_error needs an exception");
        return NULL;
    }
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), Py_NewRef(error), PyException_GetTraceback(error));
    PyErr_PrintEx(1);
    Py_RETURN_NONE;
}

PyMethodDef own_frames_methods[] = {
    {"set_own_folder", set_own_folder, METH_VARARGS, set_own_folder_doc},
    {"run_at_bottom", (PyCFunction)(void (*)(void))run_at_bottom, METH_FASTCALL, run_at_bottom_doc},
    {"print_error", print_error, METH_O, print_error_doc},
    {NULL, NULL, 0, NULL},
};
