/* Makes the main thread run its pending calls now.
 *
 * Py_AddPendingCall from another thread does not, before Python 3.13, tell a main thread that is
 * busy with bytecode that a call is waiting: the call is made only when the GIL next changes
 * hands, and so only at lines that release it. The flag that the interpreter looks at is internal;
 * this file is the one place that knows it. */

#define PY_SSIZE_T_CLEAN
#include <patchlevel.h>

#if PY_VERSION_HEX < 0x030D0000
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>
#include "internal/pycore_interp.h"

void
nudge_main_thread(PyInterpreterState *interpreter)
{
    /* The interpreter works out by itself what it was called for. */
    _Py_atomic_store_relaxed(&interpreter->ceval.eval_breaker, 1);
}
#else
#include <Python.h>

void
nudge_main_thread(PyInterpreterState *interpreter)
{
    (void)interpreter;
}
#endif
