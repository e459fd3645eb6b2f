/* The interpreter's frames, read from outside: which code runs in a thread, and at which instruction. */
#ifndef HOTLOOP_FRAMES_H
#define HOTLOOP_FRAMES_H

#include "copying.h"

#define MAX_DEPTH 192   /* of a deeper stack, the innermost frames and these outermost ones are kept */
#define OUTER_DEPTH 64

/* More than these take in any version; a layout that needs more is not used. */
#define MOST_FRAME 512u
#define MOST_THREAD 1024u
#define MOST_CODE 512u

/* Where the interpreter keeps what the sampler reads; NO_FIELD where this version has no such field. */
#define NO_FIELD ((size_t)-1)

typedef struct {
    size_t interpreter_threads;
    size_t thread_next;
    size_t thread_id;
    size_t thread_ident;
    size_t thread_native_id;
    size_t thread_size; /* covers the fields above */
    size_t thread_frame;
    size_t root_frame; /* in what thread_frame points to (Python 3.11, 3.12); NO_FIELD elsewhere */
    size_t frame_size; /* covers the fields below */
    size_t frame_previous;
    size_t frame_code;
    size_t frame_instruction;
    size_t frame_owner;
    size_t code_size; /* covers the fields below */
    size_t code_first_line;
    size_t code_file;
    size_t code_name;
    size_t code_table;
    size_t code_bytes; /* the instructions themselves; Python 3.10: a pointer to them */
} Layout;

/* 0 when this interpreter's layout is not known. */
int layout_find(Layout *layout);

typedef struct {
    uintptr_t code;
    uintptr_t instruction; /* its address; Python 3.10: its number */
} RawFrame;

/* Where a thread is. */
typedef struct {
    uintptr_t leaf; /* the innermost frame's address */
    uintptr_t kept_at; /* where that frame keeps its instruction */
    uintptr_t instruction;
} Place;

#define MAX_LINKS 64 /* innermost frames whose addresses are kept */

/* A frame that was walked over. */
typedef struct {
    uintptr_t at;
    uintptr_t code; /* 0: an entry of the C stack */
    int number;     /* in `frames`, or of the next one there */
} Link;

typedef struct {
    int depth;
    RawFrame frames[MAX_DEPTH]; /* innermost first */
    Place place;
    int links;
    Link link[MAX_LINKS];
} RawStack;

enum { STACK_READ, STACK_EMPTY, STACK_TORN };

/* Reads the stack of one thread state, up to the frame that runs `end_code`. `strictly`: no generator that
 * is suspended may end the chain. This takes microseconds, and the thread keeps running: */
int stack_read(Copier *copier, const Layout *layout, uintptr_t state, uintptr_t end_code,
               int strictly, RawStack *stack);
/* brings the innermost frames of a stack that was just read up to date. Waiting for a stack that holds
 * still instead would miss functions that call and return all the time. */
int stack_refresh(Copier *copier, const Layout *layout, uintptr_t state, RawStack *stack);
/* Where the thread is now; 0 when that cannot be told. */
int place_read(Copier *copier, const Layout *layout, uintptr_t state, Place *place);
/* Whether the thread executes the instruction of `place` all through `ns` nanoseconds: then it is in
 * native code that the instruction called. `random` spaces the looks. */
int place_stays(Copier *copier, const Layout *layout, uintptr_t state, const Place *place,
                uint64_t ns, uint32_t random);

/* The memory of the calling thread that stays mapped until it ends, for `Copier.stable`. */
void find_stable_memory(Span *spans);

#endif
