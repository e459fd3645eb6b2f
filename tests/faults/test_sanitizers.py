"""The native core under AddressSanitizer, UndefinedBehaviorSanitizer and valgrind: `stress.py`.

The core is compiled for them into a folder of the test's own. A planted error shows first that they
would see one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="sanitizers of Linux")

NATIVE = Path(__file__).parents[2] / "src" / "hotloop" / "measure" / "native"
STRESS = Path(__file__).with_name("stress.py")

#: Reads behind the end of what it was given, and adds up to more than a number can hold. Volatile: a
#: newer compiler knows how much was given, and the other sanitizer finds it first.
PLANTED = """
#include <stdlib.h>
int behind(int size) {
    char *volatile data = malloc(size);
    int seen = data[size];
    free(data);
    return seen;
}
int above(int number) { return number + 2147483647; }
"""

Compile = Callable[..., Path]
SANITIZERS = ("-O1", "-fno-omit-frame-pointer", "-fsanitize=address,undefined")


def library(name: str) -> str:
    done = subprocess.run(["gcc", f"-print-file-name={name}"], capture_output=True, text=True)
    return done.stdout.strip()


def sanitized(*words: str) -> subprocess.CompletedProcess[str]:
    """Python with the sanitizers' libraries before all others."""
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{library('libasan.so')}:{library('libubsan.so')}",
        # Python itself keeps memory until its end.
        "ASAN_OPTIONS": "detect_leaks=0:abort_on_error=0",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        # Every object from malloc, so that each is watched.
        "PYTHONMALLOC": "malloc",
    }
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *words],
        capture_output=True, text=True, timeout=900, env=environment,
    )  # fmt: skip


def native(compile_c: Compile, *options: str) -> Path:
    """The core, compiled with these."""
    include = f"-I{sysconfig.get_path('include')}"
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    sources = sorted(NATIVE.glob("*.c"))
    return compile_c(f"_native{suffix}", sources, "-std=c11", "-D_GNU_SOURCE", include, *options)


def call(path: Path, function: str) -> list[str]:
    return ["-c", f"import ctypes; ctypes.CDLL({str(path)!r}).{function}(64)"]


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    source = tmp_path_factory.mktemp("planted") / "planted.c"
    source.write_text(PLANTED)
    return source


def test_the_core_is_clean_under_the_sanitizers(
    compile_c: Compile, planted: Path, full: bool, say
) -> None:
    wrong = compile_c("planted.so", [planted], *SANITIZERS)
    assert "heap-buffer-overflow" in sanitized(*call(wrong, "behind")).stderr
    assert "signed integer overflow" in sanitized(*call(wrong, "above")).stderr
    made = native(compile_c, *SANITIZERS, "-fno-sanitize-recover=undefined")
    done = sanitized(str(STRESS), str(made), "240" if full else "3")
    assert done.returncode == 0, done.stderr[-4000:]
    assert "Sanitizer" not in done.stderr
    assert "runtime error" not in done.stderr
    say(f"AddressSanitizer and UndefinedBehaviorSanitizer: {done.stdout.strip()}")


#: Valgrind makes everything fifty times slower, and lets one thread run at a time.
VALGRIND = ("valgrind", "--tool=memcheck", "--leak-check=no", "-q", "--num-callers=12", "--error-limit=no",
            "--fair-sched=yes")  # fmt: skip
#: Frames from the inside within which an error is the core's own.
NEAR = 3


def errors(log: Path) -> list[str]:
    """Errors in the core: any invalid use of memory, and uninitialized values used
    within it. (An optimised Python uses such values itself, without harm.)"""
    found = []
    for block in re.split(r"\n==\d+== ?\n", log.read_text(errors="replace")):
        near = [line for line in block.splitlines() if " at 0x" in line or " by 0x" in line][:NEAR]
        if (
            "Invalid " in block
            or ("uninitialised" not in block and near)
            or any("_native" in line or f"({name}.c:" in line for line in near for name in CORE)
        ):
            found.append(block)
    return found


CORE = [path.stem for path in NATIVE.glob("*.c")]


def test_the_core_is_clean_under_valgrind(
    compile_c: Compile, planted: Path, tmp_path: Path, full: bool, say
) -> None:
    if shutil.which("valgrind") is None:
        pytest.skip("no valgrind here")
    if not full:
        pytest.skip("in the full form: it takes a minute")

    def watched(*words: str) -> tuple[subprocess.CompletedProcess[str], list[str]]:
        log = tmp_path / "log"
        done = subprocess.run(
            [*VALGRIND, f"--log-file={log}", sys.executable, *words],
            capture_output=True, text=True, timeout=900,
            env={**os.environ, "PYTHONMALLOC": "malloc"},
        )  # fmt: skip
        return done, errors(log)

    seen = watched(*call(compile_c("planted.so", [planted]), "behind"))[1]
    assert any("Invalid read" in block for block in seen)
    done, seen = watched(str(STRESS), str(native(compile_c, "-O1")), "30")
    assert not seen, "\n\n".join(seen)[:4000]
    assert done.returncode == 0, done.stderr[-4000:]
    say(f"valgrind: {done.stdout.strip()}")
