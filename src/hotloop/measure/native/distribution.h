/* Distribution: returns and lengths of episodes, in constant memory. */
#ifndef HOTLOOP_DISTRIBUTION_H
#define HOTLOOP_DISTRIBUTION_H

#include "core.h"

/* A histogram of returns: 16 linear steps per power of two from 2^-32 to 2^32, for either sign.
 * `hotloop.capture.episodes` reads the same layout. */
#define RETURN_STEPS 16
#define RETURN_LOWEST (-31) /* exponent of the first octave, as frexp counts */
#define RETURN_ZERO 1024    /* the bucket of 0, in the middle */
#define RETURN_BUCKETS 2048

typedef struct {
    long long episodes;
    long long unknown; /* episodes whose return is not a finite number */
    double sum, squares, low, high;
    long long length_sum, length_low, length_high;
    uint32_t buckets[RETURN_BUCKETS];
} Distribution;

void distribution_add(Distribution *to, double value, long long length);
/* The row that a window stores: see `hotloop.capture.episodes`. NULL with an exception. */
PyObject *distribution_row(Distribution *from);

#endif
