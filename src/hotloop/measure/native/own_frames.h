#ifndef HOTLOOP_OWN_FRAMES_H
#define HOTLOOP_OWN_FRAMES_H

#include "core.h"

/* Whether this version's frame chain is known; elsewhere, nothing is hidden. */
#define HIDES_FRAMES (PY_VERSION_HEX < 0x03100000)

/* Frames of hotloop that are off the chain for a while. */
typedef struct {
    PyThreadState *state;
    void *frame;
    int depth;
    int hidden;
} Aside;

/* If hotloop's own frames are the innermost: take them off the chain, for a call of the program's. Then
 * `own_frames_return` puts them back. 0 if there are none. */
int own_frames_step_aside(Aside *aside);
void own_frames_return(const Aside *aside);

/* Take hotloop's frames off the begin of the current exception's traceback. */
void own_frames_leave_traceback(void);

#endif
