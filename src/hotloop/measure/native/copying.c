/* Fault-safe copies: the kernel reads this process's memory for us and reports unmapped addresses. */

#include "copying.h"

#include <string.h>

#include "platform.h"

#if defined(__linux__)
#include <sys/uio.h>
#elif defined(__APPLE__)
#include <mach/mach.h>
#endif

/* Other threads write what is read here: a copy may be torn, and callers check it. */
#if defined(__GNUC__) || defined(__clang__)
__attribute__((no_sanitize("address", "thread"), noinline))
#endif
static void
copy_plainly(void *to, uintptr_t from, size_t size)
{
    volatile uint64_t *words = to;
    const volatile uint64_t *source = (const volatile uint64_t *)from;
    size_t whole = size / 8;
    for (size_t i = 0; i < whole; i++) {
        words[i] = source[i];
    }
    for (size_t i = whole * 8; i < size; i++) {
        ((volatile char *)to)[i] = ((const volatile char *)from)[i];
    }
}

int
copier_is_stable(const Copier *copier, uintptr_t from, size_t size)
{
    for (int i = 0; i < MOST_STABLE; i++) {
        const Span *span = &copier->stable[i];
        if (from >= span->begin && from < span->end && size <= span->end - from) {
            return 1;
        }
    }
    return 0;
}

int
copy_memory(Copier *copier, void *to, uintptr_t from, size_t size)
{
    if (from % 8 == 0 && copier_is_stable(copier, from, size)) {
        copy_plainly(to, from, size);
        return 1;
    }
#if defined(_WIN32)
    SIZE_T copied = 0;
    return ReadProcessMemory(GetCurrentProcess(), (LPCVOID)from, to, size, &copied) && copied == size;
#elif defined(__APPLE__)
    vm_size_t copied = 0;
    return vm_read_overwrite(mach_task_self(), from, size, (vm_address_t)to, &copied) == 0 &&
           copied == size;
#elif defined(__linux__)
    if (copier->way == COPY_SYSTEM) {
        struct iovec local = {to, size}, remote = {(void *)from, size};
        return process_vm_readv(copier->process, &local, 1, &remote, 1, 0) == (ssize_t)size;
    }
    return copier->way == COPY_FILE &&
           kept_file_read(&copier->memory, "/proc/self/mem", to, size, from) == size;
#else
    return 0;
#endif
}

int
copy_again(Copier *copier, uint64_t *to, uintptr_t from, int times)
{
#if defined(__linux__)
    if (copier->way == COPY_SYSTEM) {
        struct iovec local = {to, (size_t)times * sizeof(*to)}, remote[MOST_TIMES];
        for (int i = 0; i < times; i++) {
            remote[i] = (struct iovec){(void *)from, sizeof(*to)};
        }
        return process_vm_readv(copier->process, &local, 1, remote, (unsigned long)times, 0) ==
               (ssize_t)local.iov_len;
    }
#endif
    for (int i = 0; i < times; i++) {
        if (!copy_memory(copier, &to[i], from, sizeof(*to))) {
            return 0;
        }
    }
    return 1;
}

void
copier_open(Copier *copier)
{
    volatile uint64_t known = 0x686f746c6f6f70;
    uint64_t read_back = 0;
    memset(copier, 0, sizeof(*copier));
    copier->way = COPY_SYSTEM;
#if !defined(_WIN32)
    copier->process = (int)getpid();
#endif
    if (copy_memory(copier, &read_back, (uintptr_t)&known, sizeof(known)) && read_back == known) {
        return;
    }
#if defined(__linux__)
    /* Some containers forbid process_vm_readv. */
    copier->way = COPY_FILE;
    if (copy_memory(copier, &read_back, (uintptr_t)&known, sizeof(known)) && read_back == known) {
        return;
    }
#endif
    copier_close(copier);
}

void
copier_close(Copier *copier)
{
    kept_file_close(&copier->memory);
    copier->way = COPY_NONE;
}
