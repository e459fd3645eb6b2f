/* The sampler's state, shared by its thread (sampler.c), what it does with one thread (sampling.c), and what
 * that charges time to (charging.c). */
#ifndef HOTLOOP_SAMPLING_H
#define HOTLOOP_SAMPLING_H

#include "core.h"
#include "own_thread.h"
#include "samples.h"
#include "threadstate.h"

#define MOST_THREADS 256

/* What time was charged to. */
typedef struct {
    uint32_t node;
    uint32_t stack;
    uint32_t mode;
    uint64_t at_ns; /* 0: never */
} Charge;

typedef struct {
    uint64_t id; /* of its PyThreadState, never used twice; 0 is a free place */
    uintptr_t state;
    SystemThread system;
    uint64_t last_ns;
    uint64_t cpu; /* as of the last sample */
    uint64_t last_delay;
    int64_t owed_delay; /* waited for a core by the scheduler's count, less what samples say */
    int64_t owed_cpu;   /* ran by its CPU clock, less what samples say */
    int counts_cpu;     /* whether that is known */
    Charge ran;         /* the last time it ran, was blocked, had no core */
    Charge waited;
    Charge ready;
    uint32_t node;
    uint32_t stack;
    uint32_t mode;
    uint32_t alive;        /* the walk in which it was seen last */
    uint32_t runs_python;  /* 0: it had no Python frame at its last sample */
} Sampled;

/* Threads that run no Python (a pool's; autograd's, which are attached to the interpreter but have no
 * frame): what they and the Python threads other than main used of the CPU, as of the main thread's last
 * sample. */
typedef struct {
    uint64_t at_ns; /* 0: none yet */
    int64_t native_ns;
    int64_t python_ns;
    uint32_t threads_changed;
} Helpers;

typedef struct Sampler {
    PyObject_HEAD
    struct Sampler *next_running;
    Core *core;
    uint64_t interval;
    PyObject *root_code; /* frames from here outwards are hotloop's own */
    uintptr_t interpreter;
    volatile int running;
    NativeThread thread;
#if defined(_WIN32)
    SRWLOCK lock;
#else
    pid_t pid; /* of the process that has the thread */
    pthread_mutex_t lock; /* of `samples` and the figures below it */
#endif
    /* The sampler's thread alone uses these. */
    Layout layout;
    Copier copier;
    Codes codes;
    RawStack raw;
    Sampled main;
    Sampled *others;
    uint32_t other_count;
    uint32_t cursor;
    uint32_t walks;
    uint32_t threads_changed; /* how often the set of threads that run Python changed */
    uint32_t tick;
    uint32_t random;
    SystemThread own;
    Helpers helpers;
    int left_core; /* the core that this thread keeps off; -1: none */
    size_t pthread_id_at; /* where pthread_t keeps the system's id (Python 3.10) */
    KeptFile statm;
    /* Under the lock. */
    Samples samples;
    uint64_t taken;
    uint64_t torn;
    uint64_t dropped;
    uint64_t cpu_ns;
    volatile uint64_t resident;
    volatile uint64_t resident_peak;
} Sampler;

#if defined(_WIN32)
#define LOCK(self) AcquireSRWLockExclusive(&(self)->lock)
#define TRY_LOCK(self) TryAcquireSRWLockExclusive(&(self)->lock)
#define UNLOCK(self) ReleaseSRWLockExclusive(&(self)->lock)
#define LOCK_INIT(self) InitializeSRWLock(&(self)->lock)
#else
#define LOCK(self) pthread_mutex_lock(&(self)->lock)
#define TRY_LOCK(self) (pthread_mutex_trylock(&(self)->lock) == 0)
#define UNLOCK(self) pthread_mutex_unlock(&(self)->lock)
#define LOCK_INIT(self) pthread_mutex_init(&(self)->lock, NULL)
#endif

/* Takes one sample of a thread; `root` is the node of a thread that has entered no region. */
void sample_thread(Sampler *self, Sampled *sampled, uint32_t root);
uint32_t next_random(Sampler *self);

/* Before one of the two below: what the system has counted for the thread since its last sample. */
void count_cpu(Sampled *sampled, uint64_t cpu);
void count_delay(Sampler *self, Sampled *sampled);
int waits_for_core(const Sampler *self, const Sampled *sampled, int blocks);
void charge_running(Sampler *self, Sampled *sampled, uint64_t ns);
void charge_waiting(Sampler *self, Sampled *sampled, uint64_t ns);
/* Whether the thread has run for longer than its samples say. */
int ran_unseen(const Sampled *sampled, uint64_t interval);

#endif
