/* The tree: a node for each region under each parent, and the histogram of its calls. */

#include "core.h"

HOTLOOP_INLINE uint32_t
highest_bit(uint64_t value)
{
#if defined(_MSC_VER)
    unsigned long index;
    _BitScanReverse64(&index, value);
    return (uint32_t)index;
#else
    return 63u - (uint32_t)__builtin_clzll(value);
#endif
}

/* The bucket of a duration: below STEPS nanoseconds one is one nanosecond, all of them in page 0. */
HOTLOOP_INLINE uint32_t
histogram_octave(uint64_t ns, uint32_t *step)
{
    *step = (uint32_t)ns;
    if (ns < STEPS) {
        return 0;
    }
    uint32_t high = highest_bit(ns);
    *step = (uint32_t)(ns >> (high - STEPS_BITS)) & (STEPS - 1);
    return high - STEPS_BITS + 1;
}

HOTLOOP_COLD static int
node_add_page(Node *node, uint32_t octave)
{
    node->histogram[octave] = PyMem_RawCalloc(STEPS, sizeof(uint32_t));
    return node->histogram[octave] != NULL;
}

static void
histogram_add(Node *node, uint64_t ns)
{
    uint32_t step, octave = histogram_octave(ns, &step);
    if (RARELY(node->histogram[octave] == NULL) && !node_add_page(node, octave)) {
        return;
    }
    node->histogram[octave][step]++;
}

void
core_file_durations(Core *core)
{
    for (uint32_t i = 0; i < core->duration_count; i++) {
        histogram_add(core->durations[i].node, core->durations[i].ns);
    }
    core->duration_count = 0;
}

Node *
node_new(Core *core, Node *parent, Region *region, uint32_t root)
{
    void *memory = PyMem_RawCalloc(1, sizeof(Node) + CACHE_LINE);
    if (memory == NULL) {
        return NULL;
    }
    Node *node = first_line(memory);
    node->memory = memory;
    node->parent = parent;
    node->region = region;
    node->root = root;
    node->id = core->node_count;
    node->min_ns = UINT64_MAX;
    if (region != NULL) {
        uint32_t aside = (parent->flags | region->flags) & REGION_ASIDE;
        node->flags = aside ? aside : (region->flags & REGION_LOOP);
        node->flags |= region->flags & REGION_SHALLOW;
    }
    core->nodes[core->node_count++] = node;
    return node;
}

static void
edge_put(Core *core, Node *parent, Region *region, Node *node)
{
    uint32_t slot = edge_slot(core, parent, region);
    while (core->edges[slot].node != NULL) {
        slot = (slot + 1) & (core->edge_room - 1);
    }
    core->edges[slot] = (Edge){parent, region, node};
    core->edge_count++;
}

HOTLOOP_COLD static int
edges_grow(Core *core)
{
    Edge *old = core->edges;
    uint32_t old_room = core->edge_room;
    Edge *bigger = PyMem_RawCalloc((size_t)old_room * 2, sizeof(Edge));
    if (bigger == NULL) {
        return 0;
    }
    core->edges = bigger;
    core->edge_room = old_room * 2;
    core->edge_count = 0;
    for (uint32_t i = 0; i < old_room; i++) {
        if (old[i].node != NULL) {
            edge_put(core, old[i].parent, old[i].region, old[i].node);
        }
    }
    PyMem_RawFree(old);
    return 1;
}

/* The node of a region under `parent`, made at the first entry. A region inside itself is the same
 * node: recursion does not deepen the tree. */
HOTLOOP_COLD Node *
node_make_child(Core *core, Node *parent, Region *region)
{
    if (core->edge_count * 2 >= core->edge_room && !edges_grow(core)) {
        return parent;
    }
    Node *node = NULL;
    for (Node *up = parent; up != NULL; up = up->parent) {
        if (up->region == region) {
            node = up;
            break;
        }
    }
    if (node == NULL) {
        if (core->node_count >= MAX_NODES) {
            return core->overflow[parent->root];
        }
        node = node_new(core, parent, region, parent->root);
        if (node == NULL) {
            return parent;
        }
    }
    edge_put(core, parent, region, node);
    return node;
}

