/* A file under /proc that is read again and again. The program may close descriptors that are not its
 * own, so each read first checks that the descriptor still is this file, and reopens it if not. */
#ifndef HOTLOOP_KEPT_FILE_H
#define HOTLOOP_KEPT_FILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
    int file; /* 0: not open */
    uint64_t device;
    uint64_t inode;
} KeptFile;

/* The number of bytes read from `offset` on; 0 for none. */
size_t kept_file_read(KeptFile *file, const char *path, void *to, size_t size, uint64_t offset);
void kept_file_close(KeptFile *file);

#endif
