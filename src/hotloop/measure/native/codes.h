/* What the sampler knows of code objects: copies, because the objects may be freed at any moment. */
#ifndef HOTLOOP_CODES_H
#define HOTLOOP_CODES_H

#include "frames.h"

/* A str as it lies in memory. */
typedef struct {
    int kind; /* bytes per character; 0: not known */
    size_t length;
    char *data;
} Text;

/* How code ran in its last samples on a CPU: how many of `seen` were in native code. */
typedef struct {
    uint8_t native;
    uint8_t seen;
} Manner;

typedef struct Code {
    Text file;
    Text name;
    int first_line;
    char *table; /* of lines */
    size_t table_size;
    void *file_object; /* the names as Python's; made and used under the GIL only */
    void *name_object;
    Manner manner;
    uint32_t hash;
    struct Code *next; /* with the same slot */
} Code;

typedef struct {
    uintptr_t address;
    uintptr_t file;
    uintptr_t name;
    uintptr_t table;
    intptr_t size; /* of the instructions, in bytes */
    int first_line;
    uint32_t checked; /* the tick of the last check */
    Code *code;
} CodeEntry;

typedef struct {
    Code *code;
    int instruction;
    int line;
    Manner manner;
    int blocks; /* above 0: seen blocked there more often of late than on a CPU */
} Line;

#define CODE_SLOTS 4096
#define LINE_SLOTS 2048
#define MAX_CODES (1u << 15)

typedef struct {
    CodeEntry *entries; /* by address */
    Code **codes;       /* by content: code that is made again and again is one */
    Line *lines;
    uint32_t count;
} Codes;

int codes_open(Codes *codes);
void codes_close(Codes *codes);
/* The code that a frame runs and where it is in it, in bytes. NULL: a torn read. `fresh`: check the
 * object again soon. */
Code *codes_find(Codes *codes, Copier *copier, const Layout *layout, const RawFrame *frame,
                 uint32_t tick, int fresh, int *instruction);
/* The line of an instruction, with what is known of it; `line` is 0 where the table has none. */
Line *codes_line(Codes *codes, Code *code, int instruction);

#endif
