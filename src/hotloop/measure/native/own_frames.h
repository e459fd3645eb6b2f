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

/* For a call of the program's: take hotloop's frames off the chain if they are the innermost, and let tracers
 * hear again. Then `own_frames_return` puts both back. 0 if there was nothing to do. */
int own_frames_step_aside(Aside *aside);
void own_frames_return(const Aside *aside);

/* Take hotloop's frames off the begin of the current exception's traceback. */
void own_frames_leave_traceback(void);

#endif
