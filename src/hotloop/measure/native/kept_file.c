/* Descriptors that survive a program which closes all of them: checked before each use. */

#include "kept_file.h"

#if defined(__linux__)

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define FIRST_DESCRIPTOR 64 /* programs expect low numbers for their own */

static int
is_still_ours(const KeptFile *file)
{
    struct stat now;
    return file->file > 0 && fstat(file->file, &now) == 0 && now.st_dev == file->device &&
           now.st_ino == file->inode;
}

static int
open_file(KeptFile *file, const char *path)
{
    struct stat now;
    int low = open(path, O_RDONLY | O_CLOEXEC);
    if (low < 0) {
        return 0;
    }
    int high = fcntl(low, F_DUPFD_CLOEXEC, FIRST_DESCRIPTOR);
    file->file = high >= 0 ? high : low;
    if (high >= 0) {
        close(low);
    }
    if (fstat(file->file, &now) != 0) {
        close(file->file);
        file->file = 0;
        return 0;
    }
    file->device = now.st_dev;
    file->inode = now.st_ino;
    return 1;
}

size_t
kept_file_read(KeptFile *file, const char *path, void *to, size_t size, uint64_t offset)
{
    if (!is_still_ours(file)) {
        file->file = 0;
        if (!open_file(file, path)) {
            return 0;
        }
    }
    ssize_t length = pread(file->file, to, size, (off_t)offset);
    return length > 0 ? (size_t)length : 0;
}

void
kept_file_close(KeptFile *file)
{
    if (is_still_ours(file)) {
        close(file->file);
    }
    file->file = 0;
}

#else

void
kept_file_close(KeptFile *file)
{
    file->file = 0;
}

#endif
