"""Runs of a program of the benchmark under profilers, and everything that is measured of them.

`alone` is one run. `duel` is two at once, plain and under a profiler, that take turns: a stretch of
some hundredths of a second each, while the other one waits. (It is not stopped: a signal would wake
the profiler's threads at every turn.) Both train the same from the same seed, so a stretch of the
one does the work of the same stretch of the other, right before or after it: what the machine does
meanwhile is in both. So is what a profiler does in the background while its program waits.

The programs print their times (`programs/measured.py`). Beside them this process reads the resident
memory of the program, its profiler and all their children five times a second, and at the end what
else the machine did: a run that shared its CPU cores is marked as disturbed.
"""

from __future__ import annotations

import itertools
import json
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from benchmarks.peers import HOTLOOP, HOTLOOP_LATER, HOTLOOP_TIMED, PLAIN, Peer
from benchmarks.programs.measured import TURNS
from hotloop.measure.machine import cpu_ticks

PROGRAMS = Path(__file__).parent / "programs"
NAMES = ("sb3_ppo", "sb3_dqn", "torchrl_ppo", "keras_dqn", "cleanrl_ppo", "subproc_ppo")

#: What every program imports, beside it.
HELPERS = ("measured.py", "hand_timers.py")
#: A run that takes longer (in all, or after its loop), leaves more behind or needs more memory is
#: stopped.
LONGEST_S = 90.0
LONGEST_AFTER_S = 60.0
LARGEST_BYTES = 4_000_000_000
MOST_MB = 8_000.0
READ_EVERY_S = 0.2
#: CPU cores that others may use on average before a run counts as disturbed.
QUIET_CORES = 0.10
#: Why a run was ended whose partner failed.
NOT_ITSELF = "the other one failed"


@dataclass
class Run:
    """What one run printed and what was measured of it; a line of the results."""

    program: str
    peer: str
    round: int = 0
    #: The peer that it took turns with; empty of a run alone.
    beside: str = ""
    #: Why there are no figures; empty where there are.
    failed: str = ""
    #: Why it was ended after its loop.
    ended: str = ""
    loop_s: float = 0.0
    #: CPU time of the program's main process in the loop.
    cpu_s: float = 0.0
    #: Both of each stretch, where turns were taken.
    stretches: list[float] = field(default_factory=list)
    cpu_stretches: list[float] = field(default_factory=list)
    #: From the start of the command to the first environment step.
    first_step_s: float = 0.0
    wall_s: float = 0.0
    #: Resident memory of all its processes: the most until the loop had ended, and the most at all.
    loop_mb: float = 0.0
    peak_mb: float = 0.0
    #: What the profiler left behind.
    left_mb: float = 0.0
    #: CPU cores that other programs (and the hypervisor's other guests) used meanwhile.
    foreign_cores: float = 0.0
    #: Seconds by the timers in the program; of hotloop, figures of its report.
    timers: dict[str, Any] = field(default_factory=dict)
    report: dict[str, Any] = field(default_factory=dict)

    @property
    def disturbed(self) -> bool:
        return self.foreign_cores > QUIET_CORES

    def line(self) -> str:
        return json.dumps(asdict(self))


def from_line(line: str) -> Run:
    """A run from its line of the results."""
    return Run(**json.loads(line))


def with_variant(source: str, variant: str) -> str:
    """The program with the comments of that variant as code."""
    return re.sub(rf"^(\s*)# {re.escape(variant)}\| ", r"\1", source, flags=re.MULTILINE)


def alone(
    program: str,
    peer: Peer,
    round: int = 0,
    arguments: tuple[str, ...] = (),
    longest_after_s: float = LONGEST_AFTER_S,
) -> list[Run]:
    """Run a program under a peer, in a folder of its own."""
    result = Run(program, peer.name, round, failed=peer.cannot(program))
    if not result.failed:
        with (
            _prepared(result, peer, arguments, longest_after_s) as watched,
            _foreign_cores([watched]),
        ):
            watched.end("")
    return [result]


def duel(
    program: str,
    peer: Peer,
    round: int = 0,
    arguments: tuple[str, ...] = (),
    longest_after_s: float = LONGEST_AFTER_S,
) -> list[Run]:
    """Run a program plain and under a peer, in turns; either is first."""
    own = Run(program, peer.name, round, PLAIN.name, failed=peer.cannot(program))
    if own.failed:
        return [own]
    plain = Run(program, PLAIN.name, round, peer.name)
    arguments = arguments or (f"x{peer.times}",)
    with (
        _prepared(plain, PLAIN, arguments, longest_after_s, turns=True) as first,
        _prepared(own, peer, arguments, longest_after_s, turns=True) as second,
        _foreign_cores([first, second]),
    ):
        both = [first, second] if round % 2 else [second, first]
        # The first turn takes a program to its first step: nothing else runs then.
        while [watched.go_on() for watched in both] == [True, True]:
            both.reverse()
        failed = any(watched.result.failed for watched in both)
        for watched in both:
            watched.end(NOT_ITSELF if failed else "")
    if not failed and len(plain.stretches) != len(own.stretches):
        own.failed = f"{len(own.stretches)} stretches, and {len(plain.stretches)} of the plain run"
    else:
        _leave_out_beginning(plain, own, peer.settles_s)
    broken = [run for run in (plain, own) if run.failed and run.failed != NOT_ITSELF]
    return broken or [plain, own]


def _leave_out_beginning(plain: Run, own: Run, seconds: float) -> None:
    """Forget the stretches of the first seconds of both loops."""
    passed = itertools.accumulate(map(sum, zip(plain.stretches, own.stretches, strict=False)))
    first = sum(each < seconds for each in passed)
    for run in (plain, own):
        del run.stretches[:first], run.cpu_stretches[:first]


@contextmanager
def _foreign_cores(runs: list[_Watched]) -> Iterator[None]:
    """How many CPU cores others use while these runs last."""
    before, begin = _machine_cpu_s(), time.monotonic()
    yield
    own = sum(watched.cpu_s for watched in runs)
    foreign = max(_machine_cpu_s() - before - own, 0.0) / (time.monotonic() - begin)
    for watched in runs:
        watched.result.foreign_cores = foreign


@contextmanager
def _prepared(
    result: Run, peer: Peer, arguments: tuple[str, ...], longest_after_s: float, turns: bool = False
) -> Iterator[_Watched]:
    """A run that can be started; its result is complete at the end."""
    with tempfile.TemporaryDirectory(prefix="hotloop-bench-") as name:
        folder = Path(name)
        for helper in HELPERS:
            shutil.copy(PROGRAMS / helper, folder)
        source = (PROGRAMS / f"{result.program}.py").read_text()
        script = folder / f"{result.program}.py"
        script.write_text(with_variant(source, peer.variant) if peer.variant else source)
        out = folder / "out"
        out.mkdir()
        command = [*peer.command(script, out), *arguments]
        watched = _Watched(result, command, folder, longest_after_s, turns)
        try:
            yield watched
        finally:
            watched.close()
        result.left_mb = _size(out) / 1e6
        reports = (HOTLOOP_LATER,) if turns else (HOTLOOP, HOTLOOP_TIMED)
        if not result.failed and peer in reports:
            result.report = report_of(out / "capture")


def report_of(capture: Path) -> dict[str, Any]:
    """What hotloop's report says of a capture, as far as the benchmark needs it."""
    command = [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    return {
        "coverage": document["coverage"],
        "unexplained": document["unexplained"],
        "overhead": document["overhead"]["share"],
        "measured": document["overhead"]["measured"],
        "loop_s": document["run"]["loop_s"],
        "phases": outermost(document["phases"]),
    }


def outermost(phases: list[dict[str, Any]]) -> dict[str, float]:
    """Phase -> seconds in the main thread, what it calls included, each moment once."""
    totals: dict[str, float] = {}
    for phase in phases:
        if phase["process"] != "main" or phase["thread"] != "main":
            continue
        *above, name = phase["path"].split("/")
        if name not in above:
            totals[name] = totals.get(name, 0.0) + phase["total_s"]
    return totals


class _Watched:
    """A command while it runs."""

    def __init__(
        self, result: Run, command: list[str], folder: Path, longest_after_s: float, turns: bool
    ) -> None:
        self.result = result
        self._command = command
        self._folder = folder
        self._longest_after_s = longest_after_s
        self._turns = turns
        self._started = self._over = False
        self._output = b""
        self._ended = ""
        #: Seconds that it ran, and of those until its loop had ended, without waiting.
        self._ran_s = self._loop_end_s = 0.0
        #: When its memory is read next.
        self._due = 0.0
        #: CPU time of each of its processes as last seen, and of all of them at the end.
        self._seen_s: dict[int, float] = {}
        self.cpu_s = 0.0
        self._errors: BinaryIO | None = None
        self._pipe: int | None = None

    def _start(self) -> None:
        environment = dict(os.environ)
        self._errors = open(self._folder / "errors.txt", "w+b")  # noqa: SIM115 (see `close`)
        if self._turns:
            pipe = self._folder / "turns"
            os.mkfifo(pipe)
            # Open at both ends, so that neither side waits for the other to open it.
            self._pipe = os.open(pipe, os.O_RDWR)
            environment[TURNS] = str(pipe)
        self._begin = time.monotonic()
        self._process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            start_new_session=True,
        )
        self._started = True

    def go_on(self) -> bool:
        """Let it run until it hands over; whether it does, and has not ended instead."""
        if self._over:
            return False
        begin, turns = time.monotonic(), self._turns_seen()
        if not self._started:
            self._start()
        elif self._pipe is not None:
            os.write(self._pipe, b".")
        self._over = not self._until_turn(turns, begin)
        self._ran_s += time.monotonic() - begin
        if self._over:
            self._conclude()
        return not self._over

    def end(self, why: str) -> None:
        """Let it end by itself, or end it for this reason."""
        if why and not self._over:
            self._ended = why
            self._kill()
        while self.go_on():
            pass

    def close(self) -> None:
        if self._started and not self._over:
            self.end("not needed any more")
        if self._errors is not None:
            self._errors.close()
        if self._pipe is not None:
            os.close(self._pipe)

    def _turns_seen(self) -> int:
        return self._output.count(b"\nturn ")

    def _kill(self) -> None:
        """All its processes."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _conclude(self) -> None:
        """It has ended: read what it printed, and what it used."""
        result = self.result
        _, status, used = os.wait4(self._process.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        result.wall_s = self._ran_s
        # Of processes that nobody waits for (a fork server's workers), only what was seen counts.
        self.cpu_s = max(used.ru_utime + used.ru_stime, sum(self._seen_s.values()))
        assert self._errors is not None
        self._errors.seek(0)
        errors = self._errors.read().decode(errors="replace").strip()
        text = self._output.decode(errors="replace")
        result.cpu_s, result.loop_s = _figure("cpu", text), _figure("loop", text)
        first = _figure("first", text)
        result.first_step_s = first - self._begin if first else 0.0
        turns = re.findall(r"^turn ([\d.]+) ([\d.]+)$", text, re.MULTILINE)
        # The first one says that the loop has begun.
        result.stretches = [float(seconds) for seconds, _ in turns[1:]]
        result.cpu_stretches = [float(seconds) for _, seconds in turns[1:]]
        match = re.search(r"^timers (\{.*\})$", text, re.MULTILINE)
        result.timers = json.loads(match[1]) if match else {}
        if self._ended and result.loop_s:
            result.ended = self._ended
        elif self._process.returncode or not result.loop_s:
            last = errors.splitlines()[-1][:160] if errors else ""
            result.failed = self._ended or f"exit code {self._process.returncode}: {last}"

    def _until_turn(self, turns: int, begin: float) -> bool:
        """Until it hands over, or its output ends; False where that is the end of it."""
        result = self.result
        assert self._process.stdout is not None
        pipe = self._process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            while True:
                if selector.select(max(self._due - time.monotonic(), 0.0)):
                    data = os.read(pipe, 65536)
                    self._output += data
                    if not data:
                        self._process.stdout.close()
                        return False
                    if self._turns_seen() > turns and b"\nloop " not in self._output:
                        return True
                now = time.monotonic()
                if now < self._due:
                    continue
                self._due = now + READ_EVERY_S
                resident = self._read(self._process.pid)
                result.peak_mb = max(result.peak_mb, resident)
                ran_s = self._ran_s + now - begin
                if b"\nloop " not in self._output:
                    result.loop_mb, self._loop_end_s = result.peak_mb, ran_s
                why = self._too_much(ran_s, ran_s - self._loop_end_s, resident)
                if why:
                    self._ended = why
                    self._kill()
                    self._process.stdout.close()
                    return False

    def _read(self, pid: int) -> float:
        """Resident megabytes of a process and all below it."""
        pages, waiting = 0, [pid]
        while waiting:
            each = waiting.pop()
            try:
                # The name, in parentheses, may hold anything.
                fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
                for task in os.listdir(f"/proc/{each}/task"):
                    children = Path(f"/proc/{each}/task/{task}/children").read_text()
                    waiting += [int(child) for child in children.split()]
            except OSError:
                continue  # gone by now
            self._seen_s[each] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
            pages += int(fields[21])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6

    def _too_much(self, seconds: float, after_s: float, resident_mb: float) -> str:
        if after_s > self._longest_after_s:
            return f"not done {self._longest_after_s:.0f} s after the loop"
        if seconds > LONGEST_S:
            return f"not done after {LONGEST_S:.0f} s"
        if resident_mb > MOST_MB:
            return f"needs more than {MOST_MB / 1000:.0f} GB of memory"
        if _size(self._folder / "out") > LARGEST_BYTES:
            return f"its output is larger than {LARGEST_BYTES / 1e9:.0f} GB"
        return ""


def _figure(name: str, text: str) -> float:
    match = re.search(rf"^{name} ([\d.]+)$", text, re.MULTILINE)
    return float(match[1]) if match else 0.0


def _size(folder: Path) -> int:
    total = 0
    for path in folder.rglob("*"):
        try:
            total += path.stat().st_size if path.is_file() else 0
        except OSError:
            pass  # a temporary file of a profiler's
    return total


def _machine_cpu_s() -> float:
    """CPU time that the whole machine has used; what a hypervisor took counts as used."""
    ticks = cpu_ticks()
    assert ticks is not None, "no /proc/stat"
    return ticks[0] / os.sysconf("SC_CLK_TCK")
