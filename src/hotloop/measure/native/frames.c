/* Frame chains of other threads. With layouts.c, the only code that knows the interpreter's internal
 * structures. */

#define PY_SSIZE_T_CLEAN
#define Py_BUILD_CORE_MODULE 1
#include <Python.h>

#include "internal/pycore_interp.h"
#include "internal/pycore_runtime.h"
#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030D0000
#include "internal/pycore_frame.h"
#elif PY_VERSION_HEX < 0x030B0000
#include <frameobject.h>
#endif

#include "frames.h"
#include "platform.h"

#define PAGE 4096u
#define OWNED_BY_GENERATOR 1   /* or a coroutine */
#define OWNED_BY_INTERPRETER 3 /* an entry of the C stack, not a Python function (3.12 and later) */
#define TAG_BITS ((uintptr_t)3) /* of a stack reference (3.14) */
#define MOST_NEWER 8            /* frames that are new since the stack was read */
#define MOST_WALKED 4096        /* frames of one stack: more is a chain that was torn into a ring */
#define LOOKS 6                 /* at an instruction: a short loop comes back to it soon */
#define SLOW_LOOKS 1            /* the same by system calls */

/* ---- memory that stays ---- */

#if PY_VERSION_HEX >= 0x030B0000

static Span
first_chunk(PyThreadState *state)
{
    _PyStackChunk *chunk = state->datastack_chunk;
    while (chunk != NULL && chunk->previous != NULL) {
        chunk = chunk->previous;
    }
    if (chunk == NULL) {
        return (Span){0, 0};
    }
    return (Span){(uintptr_t)chunk, (uintptr_t)chunk + chunk->size};
}

/* With `ulimit -s unlimited` a stack is said to reach down to the next mapping. */
#define MOST_STACK ((size_t)64 << 20)

static Span
own_c_stack(void)
{
    Span span = {0, 0};
#if defined(__linux__)
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
        if (pthread_attr_getstack(&attributes, &low, &size) == 0) {
            if (size > MOST_STACK) {
                low = (char *)low + (size - MOST_STACK);
                size = MOST_STACK;
            }
            span = (Span){(uintptr_t)low, (uintptr_t)low + size};
        }
        pthread_attr_destroy(&attributes);
    }
#endif
    return span;
}

void
find_stable_memory(Span *spans)
{
    /* The first thread state, and its outermost frame (3.15), are part of the runtime: never freed. */
    PyThreadState *state = PyThreadState_Get();
    uintptr_t runtime = (uintptr_t)&_PyRuntime, at = (uintptr_t)state;
    if (at < runtime || at >= runtime + sizeof(_PyRuntime)) {
        return;
    }
    spans[0] = (Span){runtime, runtime + sizeof(_PyRuntime)};
    if (PyDict_GetItemString(PyImport_GetModuleDict(), "greenlet") == NULL) {
        spans[1] = first_chunk(state); /* a greenlet's is freed when it ends */
    }
    spans[2] = own_c_stack(); /* _PyCFrame; from 3.12 on a frame for each entry of the interpreter */
}

#else

void
find_stable_memory(Span *spans)
{
    (void)spans;
}

#endif

/* ---- chains ---- */

static int
read_word(Copier *copier, uintptr_t at, uintptr_t *word)
{
    return copy_memory(copier, word, at, sizeof(*word));
}

/* The innermost frame; 0 when the thread runs no Python. */
static int
read_leaf(Copier *copier, const Layout *layout, uintptr_t state, uintptr_t *leaf)
{
    uintptr_t at = state + layout->thread_frame;
    if (layout->root_frame != NO_FIELD) {
        uintptr_t root;
        if (!read_word(copier, at, &root)) {
            return 0;
        }
        if (root == 0) { /* a state that was made a moment ago */
            *leaf = 0;
            return 1;
        }
        at = root + layout->root_frame;
    }
    return read_word(copier, at, leaf);
}

/* A copied block of memory, from the begin of a page: frames below one another lie in it. */
typedef struct {
    uintptr_t begin;
    uintptr_t end;
    uint64_t bytes[(PAGE + MOST_FRAME) / 8];
} Block;

static const char *
block_frame(Copier *copier, const Layout *layout, Block *block, uintptr_t frame)
{
    /* A torn chain leads anywhere, also to the last bytes of the address space, where sums wrap. */
    if (frame % 8 != 0 || frame < PAGE || frame > UINTPTR_MAX - MOST_FRAME) {
        return NULL;
    }
    if (frame < block->begin || frame + layout->frame_size > block->end) {
        uintptr_t begin = frame;
        if (layout->frame_owner != NO_FIELD) {
            begin &= ~(uintptr_t)(PAGE - 1);
            for (int i = 0; i < MOST_STABLE; i++) { /* no system call for what lies before it */
                const Span *span = &copier->stable[i];
                if (frame >= span->begin && frame < span->end && begin < span->begin) {
                    begin = span->begin;
                }
            }
        }
        block->begin = begin;
        block->end = frame + layout->frame_size;
        if (!copy_memory(copier, block->bytes, begin, block->end - begin)) {
            block->begin = block->end = 0;
            return NULL;
        }
    }
    return (const char *)block->bytes + (frame - block->begin);
}

static uintptr_t
word_at(const char *bytes, size_t offset)
{
    uintptr_t word;
    memcpy(&word, bytes + offset, sizeof(word));
    return word;
}

static uintptr_t
instruction_at(const Layout *layout, const char *bytes)
{
#if PY_VERSION_HEX >= 0x030B0000
    return word_at(bytes, layout->frame_instruction);
#else
    int number;
    memcpy(&number, bytes + layout->frame_instruction, sizeof(number));
    return (uintptr_t)(intptr_t)number;
#endif
}

static int
owner_of(const Layout *layout, const char *bytes)
{
    return layout->frame_owner != NO_FIELD ? bytes[layout->frame_owner] : 0;
}

/* 0: an entry of the C stack. */
static uintptr_t
code_of(const Layout *layout, const char *bytes)
{
    return owner_of(layout, bytes) < OWNED_BY_INTERPRETER ? word_at(bytes, layout->frame_code) & ~TAG_BITS : 0;
}

/* The place for a frame in `stack`. In a deep stack, outer frames replace one another in turn. */
static RawFrame *
next_frame(RawStack *stack, int number)
{
    const int inner = MAX_DEPTH - OUTER_DEPTH;
    return &stack->frames[number < MAX_DEPTH ? number : inner + (number - inner) % OUTER_DEPTH];
}

static void
order_outer_frames(RawStack *stack, int count)
{
    if (count > MAX_DEPTH) {
        RawFrame turned[OUTER_DEPTH];
        const int inner = MAX_DEPTH - OUTER_DEPTH;
        for (int i = 0; i < OUTER_DEPTH; i++) {
            turned[i] = stack->frames[inner + (count - inner + i) % OUTER_DEPTH];
        }
        memcpy(stack->frames + inner, turned, sizeof(turned));
    }
    stack->depth = count < MAX_DEPTH ? count : MAX_DEPTH;
}

static int
read_chain(Copier *copier, const Layout *layout, uintptr_t leaf, uintptr_t end_code,
           int strictly, RawStack *stack)
{
    Block block;
    block.begin = block.end = 0;
    uintptr_t frame = leaf;
    int owner = 0, count = 0, walked = 0;
    stack->place = (Place){leaf, 0, 0};
    stack->links = 0;
    for (; frame != 0 && walked < MOST_WALKED; walked++) {
        const char *bytes = block_frame(copier, layout, &block, frame);
        if (bytes == NULL) {
            return STACK_TORN;
        }
        uintptr_t previous = word_at(bytes, layout->frame_previous);
        owner = owner_of(layout, bytes);
        uintptr_t code = code_of(layout, bytes);
        if (code != 0 && code == end_code) {
            break;
        }
        if (walked < MAX_LINKS) {
            stack->link[stack->links++] = (Link){frame, code, count};
        }
        if (code != 0) {
            RawFrame found = {code, instruction_at(layout, bytes)};
            if (count == 0) {
                stack->place.kept_at = frame + layout->frame_instruction;
                stack->place.instruction = found.instruction;
            }
            *next_frame(stack, count++) = found;
        }
        if (previous == frame) {
            return STACK_TORN;
        }
        frame = previous;
    }
    if (walked == MOST_WALKED) {
        return STACK_TORN;
    }
    if (strictly && frame == 0 && owner == OWNED_BY_GENERATOR) {
        return STACK_TORN; /* it was suspended meanwhile, and has no caller any more */
    }
    order_outer_frames(stack, count);
    return count > 0 ? STACK_READ : STACK_EMPTY;
}

int
stack_read(Copier *copier, const Layout *layout, uintptr_t state, uintptr_t end_code,
           int strictly, RawStack *stack)
{
    uintptr_t leaf;
    if (!read_leaf(copier, layout, state, &leaf)) {
        return STACK_TORN;
    }
    if (leaf == 0) {
        return STACK_EMPTY;
    }
    return read_chain(copier, layout, leaf, end_code, strictly, stack);
}

/* ---- the innermost frames again ---- */

static const Link *
find_link(const RawStack *stack, uintptr_t frame, uintptr_t code)
{
    for (int i = 0; i < stack->links; i++) {
        if (stack->link[i].at == frame && stack->link[i].code == code) {
            return &stack->link[i];
        }
    }
    return NULL;
}

/* The frames from `leaf` outwards to the first one that is known: it is returned, with what is new. */
static const Link *
read_newer(Copier *copier, const Layout *layout, uintptr_t leaf, RawStack *stack, RawFrame *newer, int *count)
{
    uint64_t words[MOST_FRAME / 8];
    const char *bytes = (const char *)words;
    uintptr_t frame = leaf;
    stack->place = (Place){leaf, 0, 0};
    *count = 0;
    /* The thread runs meanwhile: what was a frame may be a ring of something else. */
    for (int walked = 0; walked < 2 * MOST_NEWER && *count < MOST_NEWER && frame >= PAGE && frame % 8 == 0 &&
                         copy_memory(copier, words, frame, layout->frame_size);
         walked++) {
        RawFrame found = {code_of(layout, bytes), instruction_at(layout, bytes)};
        const Link *link = find_link(stack, frame, found.code);
        if (found.code != 0 && stack->place.kept_at == 0) {
            stack->place.kept_at = frame + layout->frame_instruction;
            stack->place.instruction = found.instruction;
        }
        if (link != NULL) {
            if (found.code != 0) {
                stack->frames[link->number].instruction = found.instruction;
            }
            return link;
        }
        if (found.code != 0) {
            newer[(*count)++] = found;
        }
        frame = word_at(bytes, layout->frame_previous);
    }
    return NULL;
}

int
stack_refresh(Copier *copier, const Layout *layout, uintptr_t state, RawStack *stack)
{
    RawFrame newer[MOST_NEWER];
    uintptr_t leaf;
    int count;
    if (!read_leaf(copier, layout, state, &leaf)) {
        return STACK_TORN;
    }
    const Link *link = read_newer(copier, layout, leaf, stack, newer, &count);
    if (link == NULL) {
        return STACK_TORN;
    }
    int kept = stack->depth - link->number;
    if (kept > MAX_DEPTH - count) {
        kept = MAX_DEPTH - count; /* of a deep stack, the outermost frames are the ones to lose */
    }
    memmove(stack->frames + count, stack->frames + link->number, (size_t)kept * sizeof(RawFrame));
    memcpy(stack->frames, newer, (size_t)count * sizeof(RawFrame));
    stack->depth = kept + count;
    return stack->place.kept_at != 0 ? STACK_READ : STACK_TORN;
}

/* Whether what a frame keeps as its instruction is that of `place`. */
static int
is_same(uint64_t kept, const Place *place)
{
#if PY_VERSION_HEX >= 0x030B0000
    return (uintptr_t)kept == place->instruction;
#else
    int number;
    memcpy(&number, &kept, sizeof(number));
    return (uintptr_t)(intptr_t)number == place->instruction;
#endif
}

static int
is_at(Copier *copier, const Layout *layout, uintptr_t state, const Place *place)
{
    uint64_t kept;
    uintptr_t leaf;
    return read_leaf(copier, layout, state, &leaf) && leaf == place->leaf &&
           copy_memory(copier, &kept, place->kept_at, sizeof(kept)) && is_same(kept, place);
}

/* The same for memory that only a system call can read: several reads in one call. */
static int
stays_copied(Copier *copier, const Layout *layout, uintptr_t state, const Place *place)
{
    uint64_t kept[MOST_TIMES];
    if (!copy_again(copier, kept, place->kept_at, MOST_TIMES)) {
        return 0;
    }
    for (int i = 0; i < MOST_TIMES; i++) {
        if (!is_same(kept[i], place)) {
            return 0;
        }
    }
    return is_at(copier, layout, state, place);
}

int
place_read(Copier *copier, const Layout *layout, uintptr_t state, Place *place)
{
    uint64_t bytes[MOST_FRAME / 8];
    const char *frame = (const char *)bytes;
    if (!read_leaf(copier, layout, state, &place->leaf) || place->leaf < PAGE || place->leaf % 8 != 0 ||
        !copy_memory(copier, bytes, place->leaf, layout->frame_size) ||
        (layout->frame_owner != NO_FIELD && frame[layout->frame_owner] >= OWNED_BY_INTERPRETER)) {
        return 0;
    }
    place->kept_at = place->leaf + layout->frame_instruction;
    place->instruction = instruction_at(layout, frame);
    return 1;
}

int
place_stays(Copier *copier, const Layout *layout, uintptr_t state, const Place *place,
            uint64_t ns, uint32_t random)
{
    if (ns == 0) {
        return is_at(copier, layout, state, place);
    }
    int stable = copier_is_stable(copier, place->kept_at, sizeof(uint64_t));
    for (int i = 0; i < (stable ? LOOKS : SLOW_LOOKS); i++) {
        if (!is_at(copier, layout, state, place)) {
            return 0;
        }
        /* Not all the time: who reads a line of a cache keeps its writer from writing it. Not evenly:
         * a loop that takes as long as the pause would be seen at the same instruction each time. */
        random = random * 1664525u + 1013904223u;
        uint64_t due = platform_clock_ns() + (random >> 16) % (2 * ns / LOOKS);
        while (platform_clock_ns() < due) {
        }
    }
    return stable || stays_copied(copier, layout, state, place);
}
