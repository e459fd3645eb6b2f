/* The interpreter's layouts that the sampler reads: for Python 3.10 to 3.12 from the headers, for later
 * versions from the offsets that the interpreter publishes for debuggers. */

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>

#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
#include "internal/pycore_frame.h"
#elif PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

#include "frames.h"

#if PY_VERSION_HEX >= 0x030D0000

static int
find_frames(Layout *layout)
{
    const struct _Py_DebugOffsets *offsets = &_PyRuntime.debug_offsets;
    *layout = (Layout){
        .interpreter_threads = offsets->interpreter_state.threads_head,
        .thread_frame = offsets->thread_state.current_frame,
        .root_frame = NO_FIELD,
        .frame_previous = offsets->interpreter_frame.previous,
        .frame_code = offsets->interpreter_frame.executable,
        .frame_instruction = offsets->interpreter_frame.instr_ptr,
        .frame_owner = offsets->interpreter_frame.owner,
        .frame_size = offsets->interpreter_frame.size,
        .code_first_line = offsets->code_object.firstlineno,
        .code_file = offsets->code_object.filename,
        .code_name = offsets->code_object.qualname,
        .code_table = offsets->code_object.linetable,
        .code_bytes = offsets->code_object.co_code_adaptive,
        .code_size = offsets->code_object.co_code_adaptive,
    };
    return !offsets->free_threaded;
}

#elif PY_VERSION_HEX >= 0x030B0000

static int
find_frames(Layout *layout)
{
    *layout = (Layout){
        .interpreter_threads = offsetof(PyInterpreterState, threads.head),
        .thread_frame = offsetof(PyThreadState, cframe),
        .root_frame = offsetof(_PyCFrame, current_frame),
        .frame_previous = offsetof(_PyInterpreterFrame, previous),
        .frame_code = offsetof(_PyInterpreterFrame, f_code),
        .frame_instruction = offsetof(_PyInterpreterFrame, prev_instr),
        .frame_owner = offsetof(_PyInterpreterFrame, owner),
        .frame_size = offsetof(_PyInterpreterFrame, localsplus),
        .code_first_line = offsetof(PyCodeObject, co_firstlineno),
        .code_file = offsetof(PyCodeObject, co_filename),
        .code_name = offsetof(PyCodeObject, co_qualname),
        .code_table = offsetof(PyCodeObject, co_linetable),
        .code_bytes = offsetof(PyCodeObject, co_code_adaptive),
        .code_size = offsetof(PyCodeObject, co_code_adaptive),
    };
    return 1;
}

#else

static int
find_frames(Layout *layout)
{
    *layout = (Layout){
        .interpreter_threads = offsetof(PyInterpreterState, tstate_head),
        .thread_frame = offsetof(PyThreadState, frame),
        .root_frame = NO_FIELD,
        .frame_previous = offsetof(PyFrameObject, f_back),
        .frame_code = offsetof(PyFrameObject, f_code),
        .frame_instruction = offsetof(PyFrameObject, f_lasti),
        .frame_owner = NO_FIELD,
        .frame_size = offsetof(PyFrameObject, f_blockstack),
        .code_first_line = offsetof(PyCodeObject, co_firstlineno),
        .code_file = offsetof(PyCodeObject, co_filename),
        .code_name = offsetof(PyCodeObject, co_name),
        .code_table = offsetof(PyCodeObject, co_linetable),
        .code_bytes = offsetof(PyCodeObject, co_code),
        .code_size = offsetof(PyCodeObject, co_zombieframe),
    };
    return 1;
}

#endif

int
layout_find(Layout *layout)
{
    int known = find_frames(layout);
    /* The fields of a thread state are public in every version. */
    layout->thread_next = offsetof(PyThreadState, next);
    layout->thread_id = offsetof(PyThreadState, id);
    layout->thread_ident = offsetof(PyThreadState, thread_id);
#if PY_VERSION_HEX >= 0x030B0000
    layout->thread_native_id = offsetof(PyThreadState, native_thread_id);
#else
    layout->thread_native_id = NO_FIELD;
#endif
    layout->thread_size = sizeof(PyThreadState);
    return known && layout->frame_size <= MOST_FRAME && layout->thread_size <= MOST_THREAD &&
           layout->code_size <= MOST_CODE;
}
