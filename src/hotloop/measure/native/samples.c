/* The tables that the sampler's thread fills and a drain empties. Neither needs the GIL. */

#include "samples.h"

#include <stdlib.h>
#include <string.h>

#include "platform.h"

#define FIRST_STACKS 1024u
#define FIRST_SAMPLES 256u

int
samples_open(Samples *samples)
{
    memset(samples, 0, sizeof(*samples));
    samples->stack_room = FIRST_STACKS;
    samples->slot_room = 2 * FIRST_STACKS;
    samples->sample_room = FIRST_SAMPLES;
    samples->stacks = calloc(samples->stack_room, sizeof(StackRow));
    samples->slots = calloc(samples->slot_room, sizeof(uint32_t));
    samples->samples = calloc(samples->sample_room, sizeof(SampleRow));
    return samples->stacks != NULL && samples->slots != NULL && samples->samples != NULL;
}

void
samples_close(Samples *samples)
{
    free(samples->stacks);
    free(samples->slots);
    free(samples->samples);
    memset(samples, 0, sizeof(*samples));
}

/* ---- stacks ---- */

static uint32_t
stack_slot(const Samples *samples, const StackRow *row)
{
    uint64_t mixed = (uint64_t)row->parent * 0x9E3779B97F4A7C15u + ((uintptr_t)row->code >> 4);
    mixed = (mixed ^ (uint64_t)row->line) * 0xC2B2AE3D27D4EB4Fu;
    uint32_t slot = (uint32_t)(mixed >> 32) & (samples->slot_room - 1);
    while (samples->slots[slot] != 0) {
        const StackRow *known = &samples->stacks[samples->slots[slot] - 1];
        if (known->parent == row->parent && known->code == row->code && known->line == row->line) {
            break;
        }
        slot = (slot + 1) & (samples->slot_room - 1);
    }
    return slot;
}

static int
stacks_grow(Samples *samples)
{
    uint32_t room = samples->stack_room * 2;
    StackRow *stacks = realloc(samples->stacks, room * sizeof(StackRow));
    if (stacks == NULL) {
        return 0;
    }
    samples->stacks = stacks;
    samples->stack_room = room;
    uint32_t *slots = calloc((size_t)room * 2, sizeof(uint32_t));
    if (slots == NULL) {
        return 0;
    }
    free(samples->slots);
    samples->slots = slots;
    samples->slot_room = room * 2;
    for (uint32_t i = 0; i < samples->stack_count; i++) {
        slots[stack_slot(samples, &stacks[i])] = i + 1;
    }
    return 1;
}

uint32_t
stack_number(Samples *samples, uint32_t parent, Code *code, int line)
{
    StackRow row = {parent, code, line};
    uint32_t slot = stack_slot(samples, &row);
    if (samples->slots[slot] != 0) {
        return samples->slots[slot];
    }
    if (samples->stack_count + 1 >= MAX_STACKS) {
        return parent;
    }
    if (samples->stack_count == samples->stack_room || samples->stack_count * 2 >= samples->slot_room) {
        if (!stacks_grow(samples)) {
            return parent;
        }
        slot = stack_slot(samples, &row);
    }
    samples->stacks[samples->stack_count++] = row;
    samples->slots[slot] = samples->stack_count;
    return samples->stack_count;
}

/* ---- samples ---- */

static SampleRow *
sample_row(SampleRow *rows, uint32_t room, uint32_t node, uint32_t stack, uint32_t mode)
{
    uint32_t slot = (node * 131u + stack * 31u + mode) & (room - 1);
    while (rows[slot].ns != 0 &&
           (rows[slot].node != node || rows[slot].stack != stack || rows[slot].mode != mode)) {
        slot = (slot + 1) & (room - 1);
    }
    return &rows[slot];
}

static void
samples_grow(Samples *samples)
{
    uint32_t room = samples->sample_room * 2;
    SampleRow *bigger = calloc(room, sizeof(SampleRow));
    if (bigger == NULL) {
        return; /* half of it is still free; the next drain empties it */
    }
    for (uint32_t i = 0; i < samples->sample_room; i++) {
        const SampleRow *row = &samples->samples[i];
        if (row->ns != 0) {
            *sample_row(bigger, room, row->node, row->stack, row->mode) = *row;
        }
    }
    free(samples->samples);
    samples->samples = bigger;
    samples->sample_room = room;
}

void
samples_add(Samples *samples, uint32_t node, uint32_t stack, uint32_t mode, uint32_t count, uint64_t ns)
{
    if (ns == 0 || samples->sample_count + 1 >= samples->sample_room) {
        return;
    }
    SampleRow *row = sample_row(samples->samples, samples->sample_room, node, stack, mode);
    if (row->ns == 0) {
        *row = (SampleRow){node, stack, mode, 0, 0};
        samples->sample_count++;
    }
    row->count += count;
    row->ns += ns;
    if (samples->sample_count * 2 > samples->sample_room) {
        samples_grow(samples);
    }
}

/* ---- drains ---- */

int
samples_drain(Samples *samples, Drained *drained)
{
    uint32_t new_stacks = samples->stack_count - samples->stacks_drained;
    SampleRow *fresh = calloc(FIRST_SAMPLES, sizeof(SampleRow));
    StackRow *stacks = malloc((new_stacks + 1) * sizeof(StackRow));
    if (fresh == NULL || stacks == NULL) {
        free(fresh);
        free(stacks);
        return 0;
    }
    memcpy(stacks, samples->stacks + samples->stacks_drained, new_stacks * sizeof(StackRow));
    *drained = (Drained){stacks, samples->stacks_drained + 1, new_stacks, samples->samples,
                         samples->sample_room};
    samples->stacks_drained = samples->stack_count;
    samples->samples = fresh;
    samples->sample_room = FIRST_SAMPLES;
    samples->sample_count = 0;
    return 1;
}

static PyObject *
text_object(const Text *text)
{
    return PyUnicode_FromKindAndData(text->kind, text->data, (Py_ssize_t)text->length);
}

static PyObject *
stack_tuple(uint32_t number, const StackRow *row)
{
    Code *code = row->code;
    if (code->file_object == NULL) {
        code->file_object = text_object(&code->file);
    }
    if (code->name_object == NULL) {
        code->name_object = text_object(&code->name);
    }
    if (code->file_object == NULL || code->name_object == NULL) {
        return NULL;
    }
    return Py_BuildValue("(IIOOii)", number, row->parent, (PyObject *)code->file_object, (PyObject *)code->name_object,
                         code->first_line, row->line);
}

static int
append_new(PyObject *list, PyObject *row)
{
    int failed = row == NULL || PyList_Append(list, row);
    Py_XDECREF(row);
    return !failed;
}

int
drained_lists(Drained *drained, PyObject **samples, PyObject **stacks)
{
    *samples = PyList_New(0);
    *stacks = PyList_New(0);
    int fine = *samples != NULL && *stacks != NULL;
    for (uint32_t i = 0; fine && i < drained->sample_room; i++) {
        const SampleRow *row = &drained->samples[i];
        if (row->ns != 0) {
            fine = append_new(*samples, Py_BuildValue("(IIIIK)", row->node, row->stack, row->mode,
                                                      row->count, (unsigned long long)row->ns));
        }
    }
    for (uint32_t i = 0; fine && i < drained->stack_count; i++) {
        fine = append_new(*stacks, stack_tuple(drained->first + i, &drained->stacks[i]));
    }
    free(drained->samples);
    free(drained->stacks);
    if (!fine) {
        Py_CLEAR(*samples);
        Py_CLEAR(*stacks);
    }
    return fine;
}
