/* Optimizers: a program with several of them (a world model, an actor, a critic) learns for one after
 * the other. Learning since the last step of any optimizer belongs to the one that steps now. */

#include "optimizers.h"

static PyObject *groups_name, *params_name;

static PyObject *
last_of(PyObject *list)
{
    return list != NULL && PyList_CheckExact(list) && PyList_GET_SIZE(list) > 0
               ? PyList_GET_ITEM(list, PyList_GET_SIZE(list) - 1)
               : NULL;
}

/* Optimizers that share some parameters (an encoder) differ in the first or in the last of them. */
static void *
key_of_groups(PyObject *groups, void *otherwise)
{
    PyObject *last_group = last_of(groups);
    if (last_group == NULL || !PyDict_CheckExact(last_group) ||
        !PyDict_CheckExact(PyList_GET_ITEM(groups, 0))) {
        return otherwise;
    }
    PyObject *first = PyDict_GetItemWithError(PyList_GET_ITEM(groups, 0), params_name);
    PyObject *end = last_of(PyDict_GetItemWithError(last_group, params_name));
    if (last_of(first) == NULL || end == NULL) {
        return otherwise;
    }
    uintptr_t mixed = (uintptr_t)PyList_GET_ITEM(first, 0) * 31u + (uintptr_t)end;
    return (void *)(mixed * 31u + (uintptr_t)PyList_GET_SIZE(first));
}

void *
optimizer_key(PyObject *optimizer)
{
    if (groups_name == NULL) {
        groups_name = PyUnicode_InternFromString("param_groups");
        params_name = PyUnicode_InternFromString("params");
    }
    PyThreadState *state = hidden_begin(); /* it may be a property of the program's */
    PyObject *groups = groups_name != NULL && params_name != NULL
                           ? PyObject_GetAttr(optimizer, groups_name)
                           : NULL;
    hidden_end(state);
    void *key = groups != NULL ? key_of_groups(groups, optimizer) : optimizer;
    Py_XDECREF(groups);
    PyErr_Clear();
    return key;
}

static KnownOptimizer *
find_optimizer(Optimizers *self, void *key)
{
    for (int i = 0; i < self->count; i++) {
        if (self->all[i].key == key) {
            return &self->all[i];
        }
    }
    return NULL;
}

HOTLOOP_COLD static KnownOptimizer *
meet_optimizer(Optimizers *self, Core *core, void *key, PyObject *optimizer, PyObject *name)
{
    if (self->count == MOST_OPTIMIZERS) {
        return NULL;
    }
    KnownOptimizer *known = &self->all[self->count++];
    *known = (KnownOptimizer){key, NULL, NULL};
    PyThreadState *state = hidden_begin();
    PyObject *names = PyObject_CallOneArg(name, optimizer);
    hidden_end(state);
    if (names != NULL && PyTuple_Check(names) && PyTuple_GET_SIZE(names) == 2) {
        known->steps = Py_NewRef(PyTuple_GET_ITEM(names, 0));
        known->ns = Py_NewRef(PyTuple_GET_ITEM(names, 1));
    }
    Py_XDECREF(names);
    core_settle_error(core, NULL);
    return known;
}

static int
keep_node(Optimizers *self, Node *node)
{
    if (self->learning_count == self->learning_room) {
        uint32_t room = self->learning_room ? 2 * self->learning_room : 16;
        Node **bigger = PyMem_RawRealloc(self->learning, room * sizeof(Node *));
        if (bigger == NULL) {
            return 0;
        }
        self->learning = bigger;
        self->learning_room = room;
    }
    self->learning[self->learning_count++] = node;
    return 1;
}

/* Nanoseconds of learning since this was last asked. */
static uint64_t
newly_learnt(Optimizers *self, Core *core)
{
    for (; self->scanned < core->node_count; self->scanned++) {
        Node *node = core->nodes[self->scanned];
        if (node->region != NULL && (node->region->flags & REGION_LEARNS) &&
            !keep_node(self, node)) {
            break;
        }
    }
    uint64_t sum = core->learnt_ns;
    for (uint32_t i = 0; i < self->learning_count; i++) {
        sum += self->learning[i]->self_ns;
    }
    uint64_t before = self->learnt_ns;
    self->learnt_ns = sum;
    return sum >= before ? sum - before : 0; /* gaps give back what was not learning */
}

void
optimizers_stepped(Optimizers *self, Core *core, void *key, PyObject *optimizer, PyObject *name)
{
    KnownOptimizer *known = find_optimizer(self, key);
    if (known == NULL) {
        known = meet_optimizer(self, core, key, optimizer, name);
    }
    if (known == NULL || known->steps == NULL) {
        return;
    }
    core_count(core, known->steps, 1);
    /* Of a first one too: the second begins where that has stepped. */
    uint64_t learnt = newly_learnt(self, core);
    if (self->count > 1) {
        core_count(core, known->ns, (long long)learnt);
    }
}

void
optimizers_end(Optimizers *self)
{
    for (int i = 0; i < self->count; i++) {
        Py_CLEAR(self->all[i].steps);
        Py_CLEAR(self->all[i].ns);
    }
    self->count = 0;
    PyMem_RawFree(self->learning);
    self->learning = NULL;
    self->learning_count = self->learning_room = 0;
}
