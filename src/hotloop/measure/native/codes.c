/* Copies of code objects: names, first lines and line tables, copied when one is first seen. No reference
 * is held (that would need the GIL), so an address is recognized by the contents of its object. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdlib.h>
#include <string.h>

#include "codes.h"
#include "platform.h"

#define MOST_TEXT 4096u          /* characters of a path or a qualified name */
#define MOST_TABLE (1u << 20)    /* bytes of a line table */
#define CHECK_EVERY 50           /* ticks: an object that was checked since then is not checked again */
#define CHECK_LEAF_EVERY 4       /* the same for the innermost frame, which changes most */
#define UNIT ((intptr_t)2)           /* bytes of an instruction */

int
codes_open(Codes *codes)
{
    codes->entries = calloc(CODE_SLOTS, sizeof(CodeEntry));
    codes->codes = calloc(CODE_SLOTS, sizeof(Code *));
    codes->lines = calloc(LINE_SLOTS, sizeof(Line));
    codes->count = 0;
    return codes->entries != NULL && codes->codes != NULL && codes->lines != NULL;
}

static void
code_free(Code *code)
{
    if (code != NULL) {
        Py_XDECREF((PyObject *)code->file_object); /* NULL unless it was drained: no GIL is needed */
        Py_XDECREF((PyObject *)code->name_object);
        free(code->file.data);
        free(code->name.data);
        free(code->table);
        free(code);
    }
}

void
codes_close(Codes *codes)
{
    for (uint32_t i = 0; codes->codes != NULL && i < CODE_SLOTS; i++) {
        for (Code *code = codes->codes[i], *next; code != NULL; code = next) {
            next = code->next;
            code_free(code);
        }
    }
    free(codes->entries);
    free(codes->codes);
    free(codes->lines);
    memset(codes, 0, sizeof(*codes));
}

/* ---- copies of objects ---- */

static int
copy_text(Copier *copier, uintptr_t at, Text *text)
{
    PyASCIIObject head;
    if (!copy_memory(copier, &head, at, sizeof(head)) || Py_TYPE(&head) != &PyUnicode_Type ||
        !head.state.compact || head.length < 0 || (size_t)head.length > MOST_TEXT) {
        return 0;
    }
    text->kind = head.state.kind;
    text->length = (size_t)head.length;
    size_t size = text->length * (size_t)text->kind;
    text->data = malloc(size + 1);
    size_t before = head.state.ascii ? sizeof(PyASCIIObject) : sizeof(PyCompactUnicodeObject);
    return text->data != NULL && (size == 0 || copy_memory(copier, text->data, at + before, size));
}

static int
copy_bytes(Copier *copier, uintptr_t at, char **data, size_t *size)
{
    PyVarObject head;
    if (!copy_memory(copier, &head, at, sizeof(head)) || Py_TYPE(&head) != &PyBytes_Type ||
        head.ob_size < 0 || (size_t)head.ob_size > MOST_TABLE) {
        return 0;
    }
    *size = (size_t)head.ob_size;
    *data = malloc(*size + 1);
    return *data != NULL &&
           (*size == 0 || copy_memory(copier, *data, at + offsetof(PyBytesObject, ob_sval), *size));
}

static uintptr_t
word_in(const uint64_t *bytes, size_t offset)
{
    uintptr_t word;
    memcpy(&word, (const char *)bytes + offset, sizeof(word));
    return word;
}

/* What a code object at an address contains now. */
static int
read_entry(Copier *copier, const Layout *layout, uintptr_t at, CodeEntry *entry)
{
    uint64_t bytes[MOST_CODE / 8];
    if (at < 4096 || at % 8 != 0 || !copy_memory(copier, bytes, at, layout->code_size) ||
        word_in(bytes, offsetof(PyObject, ob_type)) != (uintptr_t)&PyCode_Type) {
        return 0;
    }
    memset(entry, 0, sizeof(*entry));
    entry->address = at;
    entry->file = word_in(bytes, layout->code_file);
    entry->name = word_in(bytes, layout->code_name);
    entry->table = word_in(bytes, layout->code_table);
    memcpy(&entry->first_line, (char *)bytes + layout->code_first_line, sizeof(int));
#if PY_VERSION_HEX >= 0x030B0000
    entry->size = (intptr_t)word_in(bytes, offsetof(PyVarObject, ob_size)) * UNIT;
#else
    PyVarObject code;
    if (!copy_memory(copier, &code, word_in(bytes, layout->code_bytes), sizeof(code))) {
        return 0;
    }
    entry->size = (intptr_t)code.ob_size;
#endif
    return entry->size > 0;
}

static int
same_entry(const CodeEntry *one, const CodeEntry *other)
{
    return one->address == other->address && one->file == other->file && one->name == other->name &&
           one->table == other->table && one->size == other->size &&
           one->first_line == other->first_line;
}

/* ---- by content ---- */

static uint32_t
hash_bytes(uint32_t hash, const char *data, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        hash = (hash ^ (unsigned char)data[i]) * 16777619u;
    }
    return hash;
}

static int
same_text(const Text *one, const Text *other)
{
    return one->kind == other->kind && one->length == other->length &&
           memcmp(one->data, other->data, one->length * (size_t)one->kind) == 0;
}

static int
same_code(const Code *one, const Code *other)
{
    return one->hash == other->hash && one->first_line == other->first_line &&
           one->table_size == other->table_size && same_text(&one->name, &other->name) &&
           same_text(&one->file, &other->file) &&
           memcmp(one->table, other->table, one->table_size) == 0;
}

/* The one code of that content: `code` itself or the one that is known, and then `code` is freed. */
static Code *
codes_keep(Codes *codes, Code *code)
{
    uint32_t hash = hash_bytes(2166136261u ^ (uint32_t)code->first_line, code->table, code->table_size);
    hash = hash_bytes(hash, code->name.data, code->name.length * (size_t)code->name.kind);
    code->hash = hash_bytes(hash, code->file.data, code->file.length * (size_t)code->file.kind);
    Code **slot = &codes->codes[code->hash % CODE_SLOTS];
    for (Code *known = *slot; known != NULL; known = known->next) {
        if (same_code(known, code)) {
            code_free(code);
            return known;
        }
    }
    if (codes->count >= MAX_CODES) {
        code_free(code);
        return NULL;
    }
    codes->count++;
    code->next = *slot;
    *slot = code;
    return code;
}

static Code *
learn_code(Codes *codes, Copier *copier, const Layout *layout, const CodeEntry *entry)
{
    Code *code = calloc(1, sizeof(Code));
    CodeEntry after;
    if (code == NULL) {
        return NULL;
    }
    code->first_line = entry->first_line;
    if (copy_text(copier, entry->file, &code->file) && copy_text(copier, entry->name, &code->name) &&
        copy_bytes(copier, entry->table, &code->table, &code->table_size) &&
        read_entry(copier, layout, entry->address, &after) && same_entry(entry, &after)) {
        return codes_keep(codes, code);
    }
    code_free(code);
    return NULL;
}

static CodeEntry *
find_entry(Codes *codes, Copier *copier, const Layout *layout, uintptr_t at, uint32_t tick,
           int fresh)
{
    CodeEntry *entry = &codes->entries[((at >> 4) * 2654435761u >> 8) % CODE_SLOTS];
    if (entry->address == at && tick - entry->checked < (fresh ? CHECK_LEAF_EVERY : CHECK_EVERY)) {
        return entry;
    }
    CodeEntry now;
    if (!read_entry(copier, layout, at, &now)) {
        return NULL;
    }
    if (!same_entry(entry, &now)) {
        now.code = learn_code(codes, copier, layout, &now);
        if (now.code == NULL) {
            return NULL;
        }
        *entry = now;
    }
    entry->checked = tick;
    return entry;
}

Code *
codes_find(Codes *codes, Copier *copier, const Layout *layout, const RawFrame *frame,
           uint32_t tick, int fresh, int *instruction)
{
    CodeEntry *entry = find_entry(codes, copier, layout, frame->code, tick, fresh);
    if (entry == NULL) {
        return NULL;
    }
#if PY_VERSION_HEX >= 0x030B0000
    intptr_t at = (intptr_t)(frame->instruction - (frame->code + layout->code_bytes));
#else
    intptr_t at = (intptr_t)frame->instruction * UNIT;
#endif
    /* One before the first: the function is about to begin. */
    if (at < -UNIT || at >= entry->size || at % UNIT != 0) {
        return NULL;
    }
    *instruction = at < 0 ? 0 : (int)at;
    return entry->code;
}

/* ---- lines ---- */

#if PY_VERSION_HEX >= 0x030B0000

static int
read_varint(const Code *code, size_t *at)
{
    unsigned value = 0;
    for (int shift = 0; *at < code->table_size && shift < 30; shift += 6) {
        unsigned char byte = (unsigned char)code->table[(*at)++];
        value |= (unsigned)(byte & 63) << shift;
        if (!(byte & 64)) {
            break;
        }
    }
    return (value & 1) ? -(int)(value >> 1) : (int)(value >> 1);
}

/* Entries of (kind, length in units, kind's own bytes); only the first byte has its highest bit set. */
static int
find_line(const Code *code, int instruction)
{
    int line = code->first_line;
    intptr_t end = 0;
    for (size_t at = 0; at < code->table_size;) {
        unsigned char first = (unsigned char)code->table[at++];
        int kind = (first >> 3) & 15, is_none = kind == 15;
        end += ((first & 7) + 1) * UNIT;
        if (kind == 13 || kind == 14) {
            line += read_varint(code, &at);
        }
        else if (kind >= 10 && kind <= 12) {
            line += kind - 10;
        }
        if (instruction < end) {
            return is_none ? 0 : line;
        }
        while (at < code->table_size && !((unsigned char)code->table[at] & 128)) {
            at++;
        }
    }
    return 0;
}

#else

/* Pairs of (bytes of instructions, difference of lines); -128 is no line. */
static int
find_line(const Code *code, int instruction)
{
    int line = code->first_line, end = 0;
    for (size_t at = 0; at + 1 < code->table_size; at += 2) {
        int difference = (signed char)code->table[at + 1];
        end += (unsigned char)code->table[at];
        line += difference == -128 ? 0 : difference;
        if (instruction < end) {
            return difference == -128 ? 0 : line;
        }
    }
    return 0;
}

#endif

Line *
codes_line(Codes *codes, Code *code, int instruction)
{
    uintptr_t mixed = ((uintptr_t)code >> 4) * 31u + (uintptr_t)instruction;
    Line *line = &codes->lines[(mixed ^ (mixed >> 11)) % LINE_SLOTS];
    if (line->code != code || line->instruction != instruction) {
        int found = find_line(code, instruction);
        *line = (Line){code, instruction, found > 0 ? found : 0, {0, 0}, 0};
    }
    return line;
}
