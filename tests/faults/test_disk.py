"""A disk that is full, read-only, gone, slow or broken: the training does not notice.

Full and gone are a small file system of the test's own (which needs the right to mount); what a
disk does only once in years comes from `bad_disk.c`, between the process and the system.
"""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="mounts and shims of Linux")

#: Trains for 3 seconds; after one the disk goes bad, after two a worker starts. It writes nothing
#: itself, and says the result of its arithmetic and the longest that a step took.
PROGRAM = """
import multiprocessing, sys, time
from hotloop import count, profile

def work(number):
    with profile("env.step"):
        time.sleep(0.005)
        number = (number * 6364136223846793005 + 1442695040888963407) % 2**64
    count("env_steps")
    return number

def worker():
    number = 1
    for _ in range(200):
        number = work(number)

open("began", "w").close()
numbers, longest, process = [1], 0.0, None
while len(numbers) < 500:
    step = time.perf_counter()
    with profile("collect"):
        numbers.append(work(numbers[-1]))
    longest = max(longest, time.perf_counter() - step)
    if len(numbers) == 300:
        process = multiprocessing.get_context("fork").Process(target=worker)
        process.start()
process.join()
print("result", numbers[-1], "worker", process.exitcode)
with open("longest", "w") as file:
    file.write(str(longest))
sys.exit(3)
"""

EXPECTED_EXIT = 3
#: The slow disk takes half a second for each write: a step that waited took longer than this.
STALLED_S = 0.45


@dataclass
class Case:
    """One kind of trouble."""

    name: str
    #: What makes the disk bad, given the folder of the capture.
    spoil: Callable[[Path], None]
    mounted: bool = False
    how: str = ""
    #: Whether a capture must be there afterwards.
    reads: bool = True


@dataclass
class Outcome:
    code: int = -1
    out: str = ""
    err: str = ""
    longest_s: float = 0.0
    report: subprocess.CompletedProcess[str] | None = None
    took_s: float = 0.0
    skipped: str = ""
    folder: Path = field(default_factory=Path)


def fill(disk: Path) -> None:
    with open(disk / "others", "wb", buffering=0) as file, contextlib.suppress(OSError):
        while True:
            file.write(b"x" * 512)


def go_bad(disk: Path) -> None:
    (disk.parent / "now").touch()


def unmount(disk: Path) -> None:
    subprocess.run(["umount", "-l", str(disk)], check=True, capture_output=True)


CASES = [
    Case("full", fill, mounted=True),
    Case("gone: unmounted", unmount, mounted=True, reads=False),
    Case("gone: removed", lambda disk: shutil.rmtree(disk / "cap"), reads=False),
    Case("read-only", go_bad, how=str(errno.EROFS)),
    Case("broken", go_bad, how=str(errno.EIO)),
    Case("slow", go_bad, how="slow"),
]
HANGS = Case("hangs", go_bad, how="hangs")


def run(case: Case, folder: Path, shim: Path) -> Outcome:
    """The program with its capture on that disk, which goes bad after a second."""
    disk = folder / "disk"
    disk.mkdir(parents=True)
    (folder / "train.py").write_text(PROGRAM)
    if case.mounted:
        mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "none", str(disk)]
        if subprocess.run(mount, capture_output=True).returncode:
            return Outcome(skipped="not allowed to mount a file system here")
    environment = dict(os.environ)
    if case.how:
        environment |= {"LD_PRELOAD": str(shim), "BAD_DISK": str(disk), "BAD_DISK_HOW": case.how}
        environment["BAD_DISK_NOW"] = str(folder / "now")
    begin = time.monotonic()
    try:
        process = subprocess.Popen(
            [sys.executable, "-m", "hotloop", "run", "-q", "--trace", "-o", str(disk / "cap"), "train.py"],
            cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        # The slow disk is slow from when there is a capture: the loop's beginning must not wait.
        file = disk / "cap" / "main.jsonl" if case.how in ("slow", "hangs") else folder / "began"
        while not file.exists() and process.poll() is None:
            time.sleep(0.001)
        time.sleep(0 if file.name == "main.jsonl" else 1.3)
        case.spoil(disk)
        out, err = process.communicate(timeout=120)
        outcome = Outcome(
            process.returncode, out, err, took_s=time.monotonic() - begin, folder=disk
        )
        with contextlib.suppress(OSError):
            outcome.longest_s = float((folder / "longest").read_text())
        outcome.report = subprocess.run(
            [sys.executable, "-m", "hotloop", "report", str(disk / "cap")],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        return outcome
    finally:
        if case.mounted:
            subprocess.run(["umount", "-l", str(disk)], capture_output=True)


@pytest.fixture(scope="module")
def outcomes(
    tmp_path_factory: pytest.TempPathFactory, compile_c: Callable[..., Path], full: bool
) -> Iterator[dict[str, Outcome]]:
    """Every case, all at once: they mostly sleep."""
    shim = compile_c("bad_disk.so", [Path(__file__).parent / "bad_disk.c"], "-ldl")
    base = tmp_path_factory.mktemp("disks")
    cases = [*CASES, HANGS] if full else CASES
    with ThreadPoolExecutor(len(cases)) as pool:
        made = pool.map(lambda n: run(cases[n], base / str(n), shim), range(len(cases)))
        yield {case.name: outcome for case, outcome in zip(cases, made, strict=True)}


@pytest.mark.parametrize("case", [*CASES, HANGS], ids=lambda case: case.name)
def test_the_training_is_unharmed(
    case: Case, outcomes: dict[str, Outcome], full: bool, say
) -> None:
    if case is HANGS and not full:
        pytest.skip("in the full form: the exit waits ten seconds for such a disk")
    outcome = outcomes[case.name]
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert outcome.code == EXPECTED_EXIT, outcome.err
    number = 1
    for _ in range(499):
        number = (number * 6364136223846793005 + 1442695040888963407) % 2**64
    assert outcome.out == f"result {number} worker 0\n"
    assert "Traceback" not in outcome.err
    lines = outcome.err.splitlines()
    assert all(line.startswith("hotloop: ") for line in lines), outcome.err
    # Each process says once that it cannot write its shard, and once its trace.
    assert len(lines) <= 4, outcome.err
    if case.how not in ("slow", "") or case.name == "full":
        assert any("cannot be written" in line or "not answer" in line for line in lines)
    assert outcome.longest_s < STALLED_S, "a step waited for the disk"
    assert outcome.report is not None
    assert "Traceback" not in outcome.report.stderr
    if case.reads:
        assert outcome.report.returncode == 0, outcome.report.stderr
        assert "env.step" in outcome.report.stdout or case.name == "hangs"
    else:
        assert outcome.report.returncode in (0, 2)
    say(
        f"disk {case.name}: exit code and output the program's own, its longest step "
        f"{outcome.longest_s * 1e3:.0f} ms, "
        + ("capture read" if outcome.report.returncode == 0 else "no capture, and that is said")
    )


def test_a_folder_that_cannot_be_written_is_said_before_the_program_starts(
    tmp_path: Path, say
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "ro,size=64k", "none", str(disk)]
    if subprocess.run(mount, capture_output=True).returncode:
        pytest.skip("not allowed to mount a file system here")
    try:
        done = subprocess.run(
            [sys.executable, "-m", "hotloop", "run", "-o", str(disk / "cap"), "-c", "print(1)"],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
    finally:
        subprocess.run(["umount", "-l", str(disk)], capture_output=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Read-only file system" in done.stderr
    assert len(done.stderr.splitlines()) <= 2
    say("disk read-only from the start: said in one line, the program is not begun")
