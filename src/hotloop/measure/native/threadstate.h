/* What the operating system knows about a thread: its CPU time, how long it waited for a core, and what it
 * is blocked in. */
#ifndef HOTLOOP_THREADSTATE_H
#define HOTLOOP_THREADSTATE_H

#include <stdint.h>

#include "kept_file.h"

/* How a sampled thread was; captures keep these numbers. WAITING is for an unknown reason. */
enum {
    MODE_PYTHON,
    MODE_NATIVE,
    MODE_WAITING,
    MODE_UNKNOWN,
    MODE_WAITING_LOCK, /* for a lock, the GIL or another thread */
    MODE_WAITING_CORE, /* ready to run, but the CPU cores are taken */
    MODE_WAITING_IO,   /* for a file, a pipe, a socket or another process */
    MODE_SLEEPING,
    MODES
};

#define NO_THREAD 0

typedef struct {
    int id; /* the system's; NO_THREAD: not known */
    KeptFile schedstat;
    KeptFile syscall;
    int keeps_files; /* the main thread's; others are reopened each time */
} SystemThread;

void system_thread_open(SystemThread *thread, int id, int keeps_files);
void system_thread_close(SystemThread *thread);

int own_system_thread(void);
/* CPU time so far; 0 where it cannot be read, or when the thread has ended. */
uint64_t thread_cpu_ns(const SystemThread *thread);
/* CPU time so far of all threads of the process; 0 where it cannot be read. */
uint64_t process_cpu_ns(void);
/* Time so far that the thread was ready and had no core; 0 where it cannot be read. */
uint64_t thread_delay_ns(SystemThread *thread);
/* A thread that does not use a CPU now: a MODE_WAITING... or MODE_SLEEPING. */
int thread_waits_for(SystemThread *thread);
/* CPU time and waits for a core of the threads of this process; how many there are, up to `most`. */
typedef struct {
    int id;
    uint64_t on_core_ns;
    uint64_t waiting_ns;
} ThreadTimes;

int thread_times(ThreadTimes *times, int most);
/* Keeps the calling thread off the core that another one runs on, so that it neither takes that core nor
 * sees the other only when it does. `left` is the core that it keeps off already. 0 when there is no
 * other core. */
int leave_core_of(const SystemThread *thread, int *left);
/* Resident memory, through a kept file; 0 where it cannot be read. */
uint64_t resident_bytes(KeptFile *file);

#endif
