/* hotloop's own threads: they take no signals, have a name, and are no threads of Python's. */
#ifndef HOTLOOP_OWN_THREAD_H
#define HOTLOOP_OWN_THREAD_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "platform.h"

#if defined(_WIN32)
typedef HANDLE NativeThread;
#define THREAD_MAIN(name) static unsigned __stdcall name
typedef unsigned(__stdcall *ThreadMain)(void *);
#else
typedef pthread_t NativeThread;
#define THREAD_MAIN(name) static void *name
typedef void *(*ThreadMain)(void *);
#endif

/* Whether it was started. It is joined or detached later. */
int native_thread_start(NativeThread *thread, ThreadMain run, void *argument, const char *name);
void native_thread_join(NativeThread thread);
void native_thread_detach(NativeThread thread);

typedef struct OwnThread OwnThread;
extern PyTypeObject OwnThreadType;

/* Lets it call its step now; safe in a signal handler on Linux, where locks are semaphores. */
void own_thread_wake(OwnThread *self);

#endif
