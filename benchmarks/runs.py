"""One run of a program of the benchmark under one profiler, and everything that is measured of it.

Times are the program's own words (`programs/measured.py`). Beside them this process looks five
times a second at the resident memory of the program, its profiler and all their children, and at
the end at what else the machine did: a run that shared its processors is marked as disturbed.
"""

from __future__ import annotations

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
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.peers import HOTLOOP, HOTLOOP_TIMED, Peer

PROGRAMS = Path(__file__).parent / "programs"
NAMES = ("sb3_ppo", "sb3_dqn", "torchrl_ppo", "keras_dqn", "cleanrl_ppo", "subproc_ppo")

#: What every program imports, beside it.
HELPERS = ("measured.py", "hand_timers.py")
#: A run that takes longer (in all, or after its loop), leaves more behind or needs more memory is
#: ended: nobody would use that.
LONGEST_S = 90.0
LONGEST_AFTER_S = 60.0
LARGEST_BYTES = 4_000_000_000
MOST_MB = 8_000.0
LOOK_EVERY_S = 0.2
#: Processors that others may use on the average before a run counts as disturbed.
QUIET_CORES = 0.10


@dataclass
class Run:
    """What one run said and what was seen of it; a line of the results."""

    program: str
    peer: str
    round: int = 0
    #: Why there are no figures; empty where there are.
    failed: str = ""
    #: Why it was ended after its loop.
    ended: str = ""
    loop_s: float = 0.0
    #: Processor time of the program's main process in the loop.
    cpu_s: float = 0.0
    #: From the start of the command to the first environment step.
    first_step_s: float = 0.0
    wall_s: float = 0.0
    #: Resident memory of all its processes: the most until the loop had ended, and the most at all.
    loop_mb: float = 0.0
    peak_mb: float = 0.0
    #: What the profiler left behind.
    left_mb: float = 0.0
    #: Processors that other programs (and the hypervisor's other guests) used meanwhile.
    foreign_cores: float = 0.0
    #: What the timers in the program say, in seconds; of hotloop, what its report says.
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


def run(
    program: str,
    peer: Peer,
    round: int = 0,
    arguments: tuple[str, ...] = (),
    longest_after_s: float = LONGEST_AFTER_S,
) -> Run:
    """Run a program under a peer, in a folder of its own."""
    result = Run(program, peer.name, round, failed=peer.cannot(program))
    if result.failed:
        return result
    with tempfile.TemporaryDirectory(prefix="hotloop-bench-") as name:
        folder = Path(name)
        for helper in HELPERS:
            shutil.copy(PROGRAMS / helper, folder)
        source = (PROGRAMS / f"{program}.py").read_text()
        script = folder / f"{program}.py"
        script.write_text(with_variant(source, peer.variant) if peer.variant else source)
        out = folder / "out"
        out.mkdir()
        command = [*peer.command(script, out), *arguments]
        _Watched(result, command, folder, longest_after_s).measure()
        result.left_mb = _size(out) / 1e6
        if not result.failed and peer in (HOTLOOP, HOTLOOP_TIMED):
            result.report = report_of(out / "capture")
    return result


def report_of(capture: Path) -> dict[str, Any]:
    """What hotloop's report says of a capture, as far as the benchmark needs it."""
    command = [sys.executable, "-m", "hotloop", "report", str(capture), "--format", "json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    document = json.loads(done.stdout)
    return {
        "coverage": document["coverage"],
        "unexplained": document["unexplained"],
        "overhead": document["overhead"]["share"],
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
        self, result: Run, command: list[str], folder: Path, longest_after_s: float
    ) -> None:
        self._result = result
        self._longest_after_s = longest_after_s
        self._command = command
        self._folder = folder
        self._output = b""
        #: Processor time of each of its processes, as far as it was seen.
        self._cpu_s: dict[int, float] = {}

    def measure(self) -> None:
        result = self._result
        before, begin = _machine_cpu_s(), time.monotonic()
        errors = open(self._folder / "errors.txt", "w+b")  # noqa: SIM115 (closed below)
        process = subprocess.Popen(
            self._command,
            cwd=self._folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            start_new_session=True,
        )
        ended = self._watch(process, begin)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        result.wall_s = time.monotonic() - begin
        # Of processes that nobody waits for (a fork server's workers), only what was seen counts.
        own = max(used.ru_utime + used.ru_stime, sum(self._cpu_s.values()))
        result.foreign_cores = max(_machine_cpu_s() - before - own, 0.0) / result.wall_s
        errors.seek(0)
        said = errors.read().decode(errors="replace").strip()
        errors.close()
        text = self._output.decode(errors="replace")
        result.cpu_s, result.loop_s = _figure("cpu", text), _figure("loop", text)
        first = _figure("first", text)
        result.first_step_s = first - begin if first else 0.0
        match = re.search(r"^timers (\{.*\})$", text, re.MULTILINE)
        result.timers = json.loads(match[1]) if match else {}
        if ended and result.loop_s:
            result.ended = ended
        elif process.returncode or not result.loop_s:
            last = said.splitlines()[-1][:160] if said else ""
            result.failed = ended or f"exit code {process.returncode}: {last}"

    def _watch(self, process: subprocess.Popen[bytes], begin: float) -> str:
        """Until its output ends; why it was ended, if it was."""
        result = self._result
        assert process.stdout is not None
        pipe = process.stdout.fileno()
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            due, loop_end = begin, 0.0
            while True:
                if selector.select(max(due - time.monotonic(), 0.0)):
                    data = os.read(pipe, 65536)
                    self._output += data
                    if not data:
                        process.stdout.close()
                        return ""
                if time.monotonic() < due:
                    continue
                now = time.monotonic()
                due = now + LOOK_EVERY_S
                resident = self._look_at(process.pid)
                result.peak_mb = max(result.peak_mb, resident)
                if b"\nloop " not in self._output:
                    result.loop_mb, loop_end = result.peak_mb, now
                why = self._too_much(now - begin, now - loop_end, resident)
                if why:
                    os.killpg(process.pid, signal.SIGKILL)
                    process.stdout.close()
                    return why

    def _look_at(self, pid: int) -> float:
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
            self._cpu_s[each] = (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
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
    """Processor time that the whole machine has used; what a hypervisor took counts as used."""
    user, nice, system, _, _, irq, softirq, steal = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    )
    ticks = user + nice + system + irq + softirq + steal
    return ticks / os.sysconf("SC_CLK_TCK")
