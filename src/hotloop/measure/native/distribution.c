/* Distribution: returns and lengths of episodes, in constant memory. */

#include "distribution.h"

#include <math.h>

static int
bucket_of(double value)
{
    int exponent;
    double part = frexp(fabs(value), &exponent); /* 0.5 to 1, or 0 */
    if (part == 0.0) {
        return RETURN_ZERO;
    }
    int bucket = (exponent - RETURN_LOWEST) * RETURN_STEPS + (int)((part * 2 - 1) * RETURN_STEPS);
    bucket = bucket < 1 ? 1 : bucket >= RETURN_ZERO ? RETURN_ZERO - 1 : bucket;
    return value < 0 ? RETURN_ZERO - bucket : RETURN_ZERO + bucket;
}

void
distribution_add(Distribution *to, double value, long long length)
{
    if (!isfinite(value)) {
        to->unknown++;
        return;
    }
    int first = to->episodes++ == 0;
    to->sum += value;
    to->squares += value * value;
    to->low = first || value < to->low ? value : to->low;
    to->high = first || value > to->high ? value : to->high;
    to->length_sum += length;
    to->length_low = first || length < to->length_low ? length : to->length_low;
    to->length_high = first || length > to->length_high ? length : to->length_high;
    to->buckets[bucket_of(value)]++;
}

PyObject *
distribution_row(Distribution *from)
{
    PyObject *buckets = PyDict_New();
    for (int i = 0; i < RETURN_BUCKETS && buckets != NULL; i++) {
        if (from->buckets[i] == 0) {
            continue;
        }
        PyObject *bucket = PyLong_FromLong(i), *count = PyLong_FromUnsignedLong(from->buckets[i]);
        if (bucket == NULL || count == NULL || PyDict_SetItem(buckets, bucket, count) < 0) {
            Py_CLEAR(buckets);
        }
        Py_XDECREF(bucket);
        Py_XDECREF(count);
    }
    if (buckets == NULL) {
        return NULL;
    }
    return Py_BuildValue("(LLddddLLLN)", from->episodes, from->unknown, from->sum, from->squares,
                         from->low, from->high, from->length_sum, from->length_low,
                         from->length_high, buckets);
}
