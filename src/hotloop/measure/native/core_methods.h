/* Methods of Core and Region that have a file of their own. */
#ifndef HOTLOOP_CORE_METHODS_H
#define HOTLOOP_CORE_METHODS_H

#include "core.h"

extern const char core_count_doc[];
extern const char core_watch_doc[];
extern const char core_end_gap_doc[];
extern const char core_claim_gap_doc[];
extern const char core_snapshot_doc[];
extern const char core_nodes_doc[];
extern const char core_after_fork_doc[];
extern const char core_leave_all_doc[];
extern const char core_stretches_doc[];
extern const char core_trace_doc[];
extern const char core_slices_doc[];
extern const char core_attach_doc[];
extern const char core_original_doc[];
extern const char core_compiler_doc[];
extern const char core_in_graph_doc[];
extern const char region_gap_doc[];

PyObject *core_method_count(Core *self, PyObject *const *args, Py_ssize_t nargs);
PyObject *core_method_watch(Core *self, PyObject *args);
PyObject *core_method_end_gap(Core *self, PyObject *unused);
PyObject *core_method_claim_gap(Core *self, PyObject *region);
PyObject *core_method_snapshot(Core *self, PyObject *unused);
PyObject *core_method_nodes(Core *self, PyObject *args);
PyObject *core_method_after_fork(Core *self, PyObject *unused);
PyObject *core_method_leave_all(Core *self, PyObject *unused);
PyObject *core_method_stretches(Core *self, PyObject *args);
PyObject *core_method_trace(Core *self, PyObject *amount);
PyObject *core_method_slices(Core *self, PyObject *unused);
PyObject *core_method_attach(Core *self, PyObject *args);
PyObject *core_method_original(Core *self, PyObject *function);
PyObject *core_method_compiler(Core *self, PyObject *args);
PyObject *core_method_in_graph(Core *self, PyObject *function);
PyObject *region_gap(Region *self, PyObject *unused);

/* counters.c: what native code has counted goes among the others. -1 with an exception. */
int core_gather_counters(Core *self);
/* gaps.c: gaps that are open at a snapshot keep their time, unless they are too long to be gaps. */
void core_keep_gaps(Core *core);
/* core.c: another number for a core, so that lookups do not find a thread that has ended. */
void core_renew_serial(Core *core);

#endif
