"""Where a container forbids process_vm_readv: samples through /proc/self/mem, as true."""

from __future__ import annotations

import json
import platform
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
if sys.platform != "linux" or platform.machine() != "x86_64":
    pytest.skip("the filter names a system call of Linux on x86-64", allow_module_level=True)

#: Forbids one system call (number 310) to this process and all that it becomes.
FORBID = """
import ctypes, os, struct, sys
filters = [(0x20, 0, 0, 0), (0x15, 0, 1, 310), (0x06, 0, 0, 0x00050001), (0x06, 0, 0, 0x7FFF0000)]
code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *one) for one in filters))
program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", len(filters), ctypes.addressof(code)))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0  # PR_SET_NO_NEW_PRIVS
if prctl(22, 2, program, 0, 0):  # PR_SET_SECCOMP, SECCOMP_MODE_FILTER
    sys.exit(77)
os.execv(sys.executable, [sys.executable, *sys.argv[1:]])
"""

#: Closes what is not its own, and opens files that get the same numbers.
PROGRAM = """
import os, sys, time
os.closerange(3, 1024)
others = [os.open(sys.argv[0], os.O_RDONLY) for _ in range(300)]

def hot():
    until = time.perf_counter() + 1.2
    while time.perf_counter() < until:
        sum(i * i for i in range(2000))

hot()
"""


def test_a_program_that_closes_our_descriptor_is_sampled_all_the_same(tmp_path: Path) -> None:
    program = tmp_path / "closes.py"
    program.write_text(PROGRAM)
    hotloop = ["-m", "hotloop"]
    run = [sys.executable, "-c", FORBID, *hotloop, "run", "-q", "-o", "capture", program]
    done = subprocess.run(run, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    if done.returncode == 77:
        pytest.skip("no system call filters here")
    assert (done.returncode, done.stderr) == (0, "")
    report = subprocess.run(
        [sys.executable, *hotloop, "report", "capture", "--format", "json"],
        cwd=tmp_path, check=True, capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    functions = [
        f for f in json.loads(report.stdout)["functions"] if f["file"].endswith("closes.py")
    ]
    assert sum(function["share"] for function in functions) > 0.3
