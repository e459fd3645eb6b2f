/* What the native core needs from the operating system: a clock, this process's
 * resident memory, a thread's CPU time, and a thread that is not Python's.
 * Each has a stand-in where a system lacks it, so nothing here is Linux-only. */
#ifndef HOTLOOP_PLATFORM_H
#define HOTLOOP_PLATFORM_H

#include <stdint.h>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#include <process.h>
#include <psapi.h>
#else
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <mach/mach.h>
#endif
#endif

/* What runs between the program's own steps finds nothing of itself in the CPU's caches: a line
 * of code or data that is not needed costs more than all that is done with it. So what is rare is
 * kept apart from what is not (HOTLOOP_COLD, RARELY), and what is used together lies together. */
#if defined(_MSC_VER)
#define HOTLOOP_INLINE static __forceinline
#define HOTLOOP_COLD __declspec(noinline)
#define HOTLOOP_THREAD_LOCAL __declspec(thread)
#define FENCE() MemoryBarrier()
#define RARELY(condition) (condition)
#else
#define HOTLOOP_INLINE static inline __attribute__((always_inline))
#define HOTLOOP_COLD __attribute__((cold, noinline))
#define HOTLOOP_THREAD_LOCAL _Thread_local
#define FENCE() __atomic_thread_fence(__ATOMIC_ACQ_REL)
#define RARELY(condition) __builtin_expect(!!(condition), 0)
#endif

#define CACHE_LINE 64

/* Where a line of a cache begins in memory that was asked for with CACHE_LINE bytes to spare. */
HOTLOOP_INLINE void *
first_line(void *memory)
{
    return (void *)(((uintptr_t)memory + CACHE_LINE - 1) & ~(uintptr_t)(CACHE_LINE - 1));
}

/* The clock of time.perf_counter_ns(), so that the twin and the native core agree. */
HOTLOOP_INLINE uint64_t
platform_clock_ns(void)
{
#if defined(_WIN32)
    LARGE_INTEGER ticks, frequency;
    QueryPerformanceCounter(&ticks);
    QueryPerformanceFrequency(&frequency);
    uint64_t whole = (uint64_t)(ticks.QuadPart / frequency.QuadPart);
    uint64_t rest = (uint64_t)(ticks.QuadPart % frequency.QuadPart);
    return whole * 1000000000ull + rest * 1000000000ull / (uint64_t)frequency.QuadPart;
#elif defined(__APPLE__)
    return clock_gettime_nsec_np(CLOCK_UPTIME_RAW);
#else
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
#endif
}

/* Bytes of resident memory where that is one call (threadstate.c reads it on Linux); otherwise 0. */
static inline uint64_t
platform_resident_bytes(void)
{
#if defined(_WIN32)
    PROCESS_MEMORY_COUNTERS counters;
    if (!K32GetProcessMemoryInfo(GetCurrentProcess(), &counters, sizeof(counters))) {
        return 0;
    }
    return (uint64_t)counters.WorkingSetSize;
#elif defined(__APPLE__)
    mach_task_basic_info_data_t info;
    mach_msg_type_number_t size = MACH_TASK_BASIC_INFO_COUNT;
    if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, (task_info_t)&info, &size) != 0) {
        return 0;
    }
    return (uint64_t)info.resident_size;
#else
    return 0;
#endif
}

HOTLOOP_INLINE void
platform_sleep_until(uint64_t deadline_ns)
{
    uint64_t now = platform_clock_ns();
    if (deadline_ns <= now) {
        return;
    }
    uint64_t left = deadline_ns - now;
#if defined(_WIN32)
    Sleep((DWORD)(left / 1000000ull));
#else
    struct timespec t = {(time_t)(left / 1000000000ull), (long)(left % 1000000000ull)};
    nanosleep(&t, NULL);
#endif
}

#endif
