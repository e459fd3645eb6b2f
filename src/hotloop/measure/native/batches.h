/* Batch sizes from the shapes of what networks are given and return. */
#ifndef HOTLOOP_BATCHES_H
#define HOTLOOP_BATCHES_H

#include "core.h"

/* The first two dimensions of a tensor. */
typedef struct {
    int dimensions; /* one more than there are; 0: not known */
    long long first;
    long long second;
} Leading;

/* Says which class torch's tensors have. */
void batches_know(PyTypeObject *tensor);
/* All zero, or an exception, where there is no plain shape, or its class would hear of the question. */
Leading leading_of(PyObject *tensor);
/* Whether a network mapped a batch of three dimensions to one with the same two in front: then they are
 * time and batch, in either order, and it computed on both. May leave an exception. */
int are_sequences(Leading given, PyObject *result);

#endif
