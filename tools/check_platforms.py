"""Compiles the native core for each system that wheels are built for, without a warning.

    pip install ziglang && python tools/check_platforms.py

zig brings the C library's headers of every target. CPython's are this Python's own; only
`pyconfig.h` differs: Windows gets the definitions below that its headers depend on, the others this
system's. This finds what does not compile; whether it runs is for that system's own CI job to say.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

NATIVE = Path(__file__).resolve().parent.parent / "src/hotloop/measure/native"
TARGETS = ["x86_64-windows-gnu", "aarch64-macos", "x86_64-linux-musl"]
WINDOWS_CONFIG = """
#define MS_WINDOWS 1
#define MS_WIN64 1
#define NT_THREADS 1
#define WITH_THREAD 1
#define SIZEOF_VOID_P 8
#define SIZEOF_SIZE_T 8
#define SIZEOF_SHORT 2
#define SIZEOF_INT 4
#define SIZEOF_LONG 4
#define SIZEOF_LONG_LONG 8
#define SIZEOF_WCHAR_T 2
#define SIZEOF_TIME_T 8
#define ALIGNOF_LONG 4
#define ALIGNOF_SIZE_T 8
#define ALIGNOF_MAX_ALIGN_T 8
#define HAVE_DYNAMIC_LOADING 1
#define HAVE_UINTPTR_T 1
#define HAVE_WCHAR_H 1
#define HAVE_STDDEF_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_ERRNO_H 1
#define PY_SSIZE_T_MAX 0x7FFFFFFFFFFFFFFFLL
#define PY_LONG_LONG long long
#define HAVE_PY_SSIZE_T 1
typedef __INT64_TYPE__ Py_ssize_t;
#define Py_LL(x) x##LL
"""
WARNINGS = ["-Wall", "-Wextra", "-Werror"]


def headers(target: str, folder: Path) -> str:
    """A folder with CPython's headers, as that system has them."""
    include = folder / "include"
    shutil.copytree(sysconfig.get_path("include"), include)
    if "windows" in target:
        (include / "pyconfig.h").write_text(WINDOWS_CONFIG, encoding="utf-8")
    return str(include)


def compile_for(target: str, folder: Path) -> str:
    """What the compiler said."""
    zig = [sys.executable, "-m", "ziglang", "cc", "-target", target, "-std=c11", "-D_GNU_SOURCE"]
    # As a system's: CPython's own headers are not ours to warn about.
    given = ["-isystem", headers(target, folder)]
    said = ""
    for source in sorted(map(str, NATIVE.glob("*.c"))):
        command = [*zig, *WARNINGS, *given, "-c", source, "-o", "object.o"]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        said += done.stderr if done.returncode else ""
    return said


def main() -> int:
    failed = False
    for target in sys.argv[1:] or TARGETS:
        with tempfile.TemporaryDirectory() as folder:
            said = compile_for(target, Path(folder))
        print(f"{target}: {said or 'no warnings'}", flush=True)
        failed |= bool(said)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
