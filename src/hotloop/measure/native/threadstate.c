/* Thread states from /proc, Linux only: elsewhere every state is "not known". */

#include "threadstate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "platform.h"

#if defined(__linux__)

#include <dirent.h>
#include <sched.h>
#include <sys/syscall.h>

int
own_system_thread(void)
{
    return (int)syscall(SYS_gettid);
}

/* The length read, 0 for none. */
static size_t
read_kept(KeptFile *file, const char *path, char *text, size_t room)
{
    size_t length = kept_file_read(file, path, text, room - 1, 0);
    text[length] = '\0';
    return length;
}

static size_t
read_once(const char *path, char *text, size_t room)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) {
        return 0;
    }
    ssize_t length = read(file, text, room - 1);
    close(file);
    text[length > 0 ? length : 0] = '\0';
    return length > 0 ? (size_t)length : 0;
}

static size_t
read_of_thread(SystemThread *thread, KeptFile *file, const char *name, char *text, size_t room)
{
    char path[64];
    snprintf(path, sizeof(path), "/proc/self/task/%d/%s", thread->id, name);
    return thread->keeps_files ? read_kept(file, path, text, room) : read_once(path, text, room);
}

void
system_thread_open(SystemThread *thread, int id, int keeps_files)
{
    memset(thread, 0, sizeof(*thread));
    thread->id = id;
    thread->keeps_files = keeps_files;
}

void
system_thread_close(SystemThread *thread)
{
    kept_file_close(&thread->schedstat);
    kept_file_close(&thread->syscall);
}

uint64_t
thread_cpu_ns(const SystemThread *thread)
{
    /* The clock of a thread by its number, as pthread_getcpuclockid makes it: that function wants a
     * pthread_t, which is not valid once the thread has ended. */
    struct timespec t;
    if (thread->id == NO_THREAD || clock_gettime((clockid_t)((~(unsigned)thread->id << 3) | 6), &t) != 0) {
        return 0;
    }
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t
process_cpu_ns(void)
{
    struct timespec t;
    if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) != 0) {
        return 0;
    }
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

uint64_t
thread_delay_ns(SystemThread *thread)
{
    char text[96], *rest = NULL;
    if (thread->id == NO_THREAD ||
        !read_of_thread(thread, &thread->schedstat, "schedstat", text, sizeof(text))) {
        return 0;
    }
    strtoull(text, &rest, 10); /* time on a CPU */
    return strtoull(rest, NULL, 10);
}

int
thread_times(ThreadTimes *times, int most)
{
    DIR *folder = opendir("/proc/self/task");
    struct dirent *entry;
    int count = 0;
    while (folder != NULL && count < most && (entry = readdir(folder)) != NULL) {
        char path[64], text[96], *rest = NULL;
        int id = atoi(entry->d_name); /* 0: "." and ".." */
        snprintf(path, sizeof(path), "/proc/self/task/%d/schedstat", id);
        if (id != 0 && read_once(path, text, sizeof(text))) {
            uint64_t on_core = strtoull(text, &rest, 10);
            times[count++] = (ThreadTimes){id, on_core, strtoull(rest, NULL, 10)};
        }
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return count;
}

/* The system call's first argument is the number of files for select, the second for poll. */
static int
mode_of_call(long call, unsigned long long first, unsigned long long second)
{
    switch (call) {
    case SYS_futex:
#if defined(SYS_futex_waitv)
    case SYS_futex_waitv:
#endif
        return MODE_WAITING_LOCK;
    case SYS_nanosleep:
    case SYS_clock_nanosleep:
        return MODE_SLEEPING;
#if defined(SYS_select)
    case SYS_select:
#endif
    case SYS_pselect6:
        return first == 0 ? MODE_SLEEPING : MODE_WAITING_IO;
#if defined(SYS_poll)
    case SYS_poll:
#endif
    case SYS_ppoll:
        return second == 0 ? MODE_SLEEPING : MODE_WAITING_IO;
    case SYS_sched_yield:
        return MODE_WAITING_CORE;
    case SYS_restart_syscall: /* a sleep or a lock with a timeout, after the process was stopped */
        return MODE_WAITING;
    default:
        return MODE_WAITING_IO; /* -1: a page that is being read */
    }
}

int
thread_waits_for(SystemThread *thread)
{
    char text[256], *rest = NULL;
    if (thread->id == NO_THREAD ||
        !read_of_thread(thread, &thread->syscall, "syscall", text, sizeof(text))) {
        return MODE_WAITING;
    }
    if (strncmp(text, "running", 7) == 0) {
        return MODE_WAITING_CORE;
    }
    long call = strtol(text, &rest, 10);
    unsigned long long first = strtoull(rest, &rest, 16);
    return mode_of_call(call, first, strtoull(rest, NULL, 16));
}

/* Field 39 of its "stat" line; -1 where it cannot be read. */
static int
core_of(const SystemThread *thread)
{
    char path[64], text[512];
    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread->id);
    if (!read_once(path, text, sizeof(text))) {
        return -1;
    }
    char *at = strrchr(text, ')'); /* ends field 2, the name, which may contain anything */
    for (int field = 2; at != NULL && field < 39; field++) {
        at = strchr(at + 1, ' ');
    }
    return at != NULL ? atoi(at) : -1;
}

int
leave_core_of(const SystemThread *thread, int *left)
{
    cpu_set_t cores;
    int core = core_of(thread);
    if (core >= 0 && core == *left) {
        return 1;
    }
    /* What the other thread may use, this one may use too. */
    if (core < 0 || core >= CPU_SETSIZE || sched_getaffinity(thread->id, sizeof(cores), &cores) != 0 ||
        CPU_COUNT(&cores) < 2) {
        return 0;
    }
    CPU_CLR(core, &cores);
    *left = core;
    return sched_setaffinity(0, sizeof(cores), &cores) == 0;
}

uint64_t
resident_bytes(KeptFile *file)
{
    char text[128], *rest = NULL; /* "size resident shared ...", in pages */
    if (!read_kept(file, "/proc/self/statm", text, sizeof(text))) {
        return 0;
    }
    strtoull(text, &rest, 10);
    return (uint64_t)strtoull(rest, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE);
}

#else

int own_system_thread(void) { return NO_THREAD; }
void system_thread_close(SystemThread *thread) { (void)thread; }
uint64_t thread_cpu_ns(const SystemThread *thread) { (void)thread; return 0; }
uint64_t process_cpu_ns(void) { return 0; }
uint64_t thread_delay_ns(SystemThread *thread) { (void)thread; return 0; }
int thread_waits_for(SystemThread *thread) { (void)thread; return MODE_UNKNOWN; }
int thread_times(ThreadTimes *times, int most) { (void)times, (void)most; return 0; }
int leave_core_of(const SystemThread *thread, int *left) { (void)thread; (void)left; return 1; }

uint64_t
resident_bytes(KeptFile *file)
{
    (void)file;
    return platform_resident_bytes();
}

void
system_thread_open(SystemThread *thread, int id, int keeps_files)
{
    memset(thread, 0, sizeof(*thread));
    thread->id = id;
    thread->keeps_files = keeps_files;
}

#endif
