/* The native module: its types, and the constants that Python shares with it. */

#include "distribution.h"
#include "hidden.h"
#include "inplace.h"
#include "own_frames.h"
#include "own_thread.h"
#include "returns.h"
#include "threadstate.h"
#include "transfers.h"
#include "updates.h"

static struct PyModuleDef module = {
    PyModuleDef_HEAD_INIT,
    .m_name = "hotloop.measure._native",
    .m_doc = "The region clock and the sampler in C.",
    .m_size = -1,
};

/* What Python needs to know of the native parts: exported here, so that it is written once. */
static int
add_constants(PyObject *self)
{
    static const struct {
        const char *name;
        long value;
    } all[] = {
        {"STEP", STEP},
        {"ADD", ADD},
        {"SAMPLE", SAMPLE},
        {"ACT", ACT},
        {"FORWARD", FORWARD},
        {"BACKWARD", BACKWARD},
        {"OPTIMIZER", OPTIMIZER},
        {"PREPARE", PREPARE},
        {"INFERENCE", INFERENCE},
        {"SCORE", SCORE},
        {"REFERENCE", REFERENCE},
        {"ACT_INSIDE", ACT_INSIDE},
        {"MOST_NETWORKS", MOST_NETWORKS},
        {"SHOWN_ACTS", SHOWN_ACTS},
        {"SHOWN_FORWARDS", SHOWN_FORWARDS},
        {"SHOWN_LOSSES", SHOWN_LOSSES},
        {"SHOWN_SAMPLES", SHOWN_SAMPLES},
        {"MOST_LINES", MOST_LINES},
        {"REGION_LOOP", REGION_LOOP},
        {"REGION_ASIDE", REGION_ASIDE},
        {"REGION_SHALLOW", REGION_SHALLOW},
        {"REGION_BESIDE", REGION_BESIDE},
        {"REGION_LEARNS", REGION_LEARNS},
        {"MAX_NODES", MAX_NODES},
        {"MAX_REGIONS", MAX_REGIONS},
        {"MAX_ROOTS", MAX_ROOTS},
        {"STEPS_BITS", STEPS_BITS},
        {"RETURN_STEPS", RETURN_STEPS},
        {"RETURN_LOWEST", RETURN_LOWEST},
        {"RETURN_ZERO", RETURN_ZERO},
        {"TRAINING", TRAINING},
        {"EVALUATION", EVALUATION},
        {"TRAINING_RAW", TRAINING_RAW},
        {"EVALUATION_RAW", EVALUATION_RAW},
        {"AUTORESET_SAME_STEP", AUTORESET_SAME_STEP},
        {"AUTORESET_NEXT_STEP", AUTORESET_NEXT_STEP},
        {"AUTORESET_DISABLED", AUTORESET_DISABLED},
        {"MODE_PYTHON", MODE_PYTHON},
        {"MODE_NATIVE", MODE_NATIVE},
        {"MODE_WAITING", MODE_WAITING},
        {"MODE_UNKNOWN", MODE_UNKNOWN},
        {"MODE_WAITING_LOCK", MODE_WAITING_LOCK},
        {"MODE_WAITING_CORE", MODE_WAITING_CORE},
        {"MODE_WAITING_IO", MODE_WAITING_IO},
        {"MODE_SLEEPING", MODE_SLEEPING},
        {"SLICE_BYTES", sizeof(Slice)},
        {"HIDES_FRAMES", HIDES_FRAMES},
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (PyModule_AddIntConstant(self, all[i].name, all[i].value) < 0) {
            return -1;
        }
    }
    return 0;
}

PyMODINIT_FUNC
PyInit__native(void)
{
    PyTypeObject *types[] = {&CoreType,       &SamplerType,   &EventOrderType,   &UpdatesType,
                             &NetworksType,   &StepsType,     &TransfersType,    &TensorMethodType,
                             &ReturnsType,    &OneThreadType, &MarkType,         &BeforeType,
                             &CompiledRunsType, &ListCallsType, &OwnThreadType,
                             &RegionType,     &RegionCallType, &RegionMethodType, &TimedType};
    PyObject *self = PyModule_Create(&module);
    for (size_t i = 0; self != NULL && i < sizeof(types) / sizeof(types[0]); i++) {
        if (PyType_Ready(types[i]) < 0 || PyModule_AddType(self, types[i]) < 0) {
            Py_CLEAR(self);
        }
    }
    if (self != NULL && (region_type_add_methods() < 0 || inplace_ready() < 0 ||
                         add_constants(self) < 0 ||
                         PyModule_AddFunctions(self, termination_methods) < 0 ||
                         PyModule_AddFunctions(self, subclasses_methods) < 0 ||
                         PyModule_AddFunctions(self, hidden_methods) < 0 ||
                         PyModule_AddFunctions(self, own_frames_methods) < 0)) {
        Py_CLEAR(self);
    }
    return self;
}
