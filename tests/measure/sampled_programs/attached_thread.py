"""The main thread waits for a native thread that is known to Python but runs none of it.

Autograd's device threads are like that: they attach to the interpreter once, and compute without it.
"""

import ctypes
import subprocess
import sysconfig
import tempfile
from pathlib import Path

SOURCE = """
#include <Python.h>
#include <pthread.h>
#include <time.h>

static void *compute(void *unused)
{
    PyGILState_STATE attached = PyGILState_Ensure();
    PyThreadState *state = PyEval_SaveThread();
    struct timespec now, begin;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    do {
        clock_gettime(CLOCK_MONOTONIC, &now);
    } while (now.tv_sec - begin.tv_sec < 3);
    PyEval_RestoreThread(state);
    PyGILState_Release(attached);
    return unused;
}

void wait_for_it(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, compute, NULL);
    pthread_join(thread, NULL);
}
"""


def build(folder):
    source, library = Path(folder, "attached.c"), Path(folder, "attached.so")
    source.write_text(SOURCE)
    include = sysconfig.get_path("include")
    command = ["cc", "-shared", "-fPIC", "-pthread", f"-I{include}", "-o", library, source]
    subprocess.run(command, check=True)
    return ctypes.CDLL(str(library))


def main():
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)
        library.wait_for_it()  # hot: native


main()
