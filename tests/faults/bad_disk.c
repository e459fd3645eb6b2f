/* A disk in trouble: writes below a folder are slow, fail or never end.
 *
 * Put before a program with LD_PRELOAD. BAD_DISK is the folder; BAD_DISK_HOW is `slow`, `hangs` or
 * an error's number; it begins when the file BAD_DISK_NOW exists. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SLOW_MICROSECONDS 500000

static int
is_below(const char *path)
{
    const char *folder = getenv("BAD_DISK");
    return folder != NULL && strncmp(path, folder, strlen(folder)) == 0;
}

static int
is_bad(void)
{
    return access(getenv("BAD_DISK_NOW"), F_OK) == 0;
}

/* 0, or the error that the disk answers with. */
static int
trouble(void)
{
    const char *how = getenv("BAD_DISK_HOW");
    if (!is_bad()) {
        return 0;
    }
    if (strcmp(how, "slow") == 0) {
        usleep(SLOW_MICROSECONDS);
        return 0;
    }
    if (strcmp(how, "hangs") == 0) {
        sleep(10000);
        return EIO;
    }
    return atoi(how);
}

ssize_t
write(int descriptor, const void *data, size_t size)
{
    static ssize_t (*real)(int, const void *, size_t);
    if (real == NULL) {
        real = dlsym(RTLD_NEXT, "write");
    }
    char link[64], path[4096];
    snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof(path) - 1);
    path[length > 0 ? length : 0] = 0;
    if (is_below(path)) {
        int error = trouble();
        if (error) {
            errno = error;
            return -1;
        }
    }
    return real(descriptor, data, size);
}

static int
open_there(const char *name, const char *path, int flags, mode_t mode)
{
    int (*real)(const char *, int, ...) = dlsym(RTLD_NEXT, name);
    if ((flags & (O_CREAT | O_WRONLY | O_RDWR)) && is_below(path)) {
        int error = trouble();
        if (error) {
            errno = error;
            return -1;
        }
    }
    return real(path, flags, mode);
}

#define MODE                                  \
    mode_t mode = 0;                          \
    if (flags & O_CREAT) {                    \
        va_list arguments;                    \
        va_start(arguments, flags);           \
        mode = va_arg(arguments, mode_t);     \
        va_end(arguments);                    \
    }

int
open(const char *path, int flags, ...)
{
    MODE
    return open_there("open", path, flags, mode);
}

int
open64(const char *path, int flags, ...)
{
    MODE
    return open_there("open64", path, flags, mode);
}
