/* Learning, for the file that uses it: see learning.c. */

#ifndef HOTLOOP_LEARNING_H
#define HOTLOOP_LEARNING_H

#include "order.h"

typedef struct Learning Learning;

/* A network was called with gradients on so many rows. */
void learning_saw(Learning *self, PyObject *network, long long rows);

#endif
