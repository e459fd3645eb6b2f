"""The analysis: plain data, the same for every renderer and every rule."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, overload

from hotloop.analyze.one_time_work import Once
from hotloop.analyze.over_time.returns import RunReturns
from hotloop.analyze.over_time.trends import Trends
from hotloop.analyze.run import Run
from hotloop.capture.proofs import Proof
from hotloop.capture.schema import ExactFunction, Notes, SourceLine
from hotloop.capture.window import Window
from hotloop.phases import name_at, names_of

if TYPE_CHECKING:
    from hotloop.analyze.bounds import Bound
    from hotloop.analyze.device_use import DeviceUse


class Later:
    """A field that may be a function, which is called when the field is first read.

    Quantiles need every stored histogram decoded, and most of a long run's are never read.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = "_" + name

    @overload
    def __get__(self, phase: None, owner: type) -> Later: ...
    @overload
    def __get__(self, phase: object, owner: type) -> float: ...
    def __get__(self, phase: object | None, owner: type) -> Later | float:
        if phase is None:
            raise AttributeError(self._name)  # tells dataclass that there is no default
        value = getattr(phase, self._name)
        if callable(value):
            value = value()
            setattr(phase, self._name, value)
        return float(value)

    def __set__(self, phase: object, value: float | Callable[[], float]) -> None:
        setattr(phase, self._name, value)


@dataclass
class Phase:
    """One node of one process's region tree, without its own cost."""

    path: str
    name: str
    category: str
    process: str
    thread: str
    depth: int
    calls: int
    total_s: float
    self_s: float
    share: float
    mean_s: float
    min_s: float
    max_s: float
    p50_s: Later = Later()
    p95_s: Later = Later()
    p99_s: Later = Later()
    cpu_peak_mb: float | None = None
    cpu_added_mb: float | None = None
    gpu_peak_mb: float | None = None
    gpu_reserved_mb: float | None = None
    #: Device time of the kernels launched here and below; None if no device was recorded.
    device_s: float | None = None
    #: Time on the critical path, here and below; None if no device was recorded. See `critical`.
    critical_s: float | None = None
    critical_self_s: float | None = None
    score: float = 0.0
    marks: list[str] = field(default_factory=list)
    how: str = "named"
    python_share: float | None = None
    native_share: float | None = None
    waiting_share: float | None = None
    #: Standard error of the share, if calls were measured in stretches.
    share_error: float | None = None

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def loop_s(self) -> float:
        """Time of the loop: on the critical path where that is known, else host time."""
        return self.total_s if self.critical_s is None else self.critical_s

    @property
    def loop_self_s(self) -> float:
        """The same without the phases inside it."""
        return self.self_s if self.critical_self_s is None else self.critical_self_s


def of_main_thread(phases: Iterable[Phase], process: str = "main") -> list[Phase]:
    """The phases of a process's main thread; of the process that trains, those of its loop."""
    return [p for p in phases if p.process == process and p.thread == "main"]


@dataclass(frozen=True)
class Caller:
    """A line of the program that led to a library's function."""

    file: str
    line: int
    #: As a share of the function's own time.
    share: float


@dataclass
class Function:
    """One function inside one phase, from the samples."""

    phase: str
    file: str
    function: str
    line: int
    process: str
    self_s: float
    total_s: float
    share: float
    samples: int
    python_share: float
    native_share: float
    waiting_share: float
    of_program: bool
    hot_line: int = 0
    #: As shares of the waiting: a CPU core, a lock or the GIL, I/O or another process, sleep.
    core_share: float = 0.0
    lock_share: float = 0.0
    io_share: float = 0.0
    sleeping_share: float = 0.0
    #: The nearest line of the program that led to a library's function.
    from_file: str = ""
    from_line: int = 0
    #: All such lines with a part of its time worth naming, the largest first.
    callers: tuple[Caller, ...] = ()

    @property
    def source_line(self) -> SourceLine:
        """The line of the program that led to a library's function, or the function's own."""
        if self.from_file:
            return SourceLine(self.from_file, self.from_line, self.function)
        return SourceLine(self.file, self.hot_line or self.line, self.function)

    @property
    def states(self) -> dict[str, float]:
        """State -> share of its own time in it."""
        known = {
            "no CPU core": self.core_share,
            "lock": self.lock_share,
            "I/O": self.io_share,
            "sleeping": self.sleeping_share,
        }
        unknown = self.waiting_share - sum(known.values())
        running = {"Python": self.python_share, "native": self.native_share}
        return {**running, **known, "waiting": unknown}


@dataclass(frozen=True)
class Frame:
    """One frame of a sampled stack."""

    file: str
    function: str
    first_line: int
    line: int
    of_program: bool

    @property
    def code(self) -> tuple[str, str]:
        """File and name of the function."""
        return self.file, self.function

    @property
    def short(self) -> str:
        """The function's name without its class."""
        return self.function.rpartition(".")[2]

    @property
    def source_line(self) -> SourceLine:
        return SourceLine(self.file, self.line, self.function)


@dataclass(frozen=True)
class Sample:
    """All moments at which one stack was seen in one phase of one process."""

    path: str
    process: str
    #: From the inside out, hotloop's own left out.
    frames: tuple[Frame, ...]
    seconds: float
    waiting: bool = False
    #: In code that is not Python's: an operator, a call of an extension.
    native: bool = False
    #: Ready to run, but without a CPU core: whether in Python or native code is not known.
    without_core: bool = False

    @cached_property
    def phases(self) -> list[str]:
        """Names of the phases that it was seen in, the innermost last."""
        return names_of(self.path)

    @property
    def phase(self) -> str:
        """Name of the innermost phase; empty in none."""
        return name_at(self.path)

    @property
    def own(self) -> list[Frame]:
        """The program's own frames, from the inside out."""
        return [frame for frame in self.frames if frame.of_program]

    @cached_property
    def line(self) -> SourceLine | None:
        """The innermost line of the program's own code."""
        return next((frame.source_line for frame in self.frames if frame.of_program), None)


def seconds_of(samples: Iterable[Sample]) -> float:
    """The time of these samples together."""
    return sum(sample.seconds for sample in samples)


@dataclass
class Overhead:
    """hotloop's own cost, and whether it was removed from the figures."""

    region_ns: float
    regions: int
    share: float
    corrected: bool
    sampler_s: float
    recorder_s: float
    #: Time of hooks between regions: inspecting results, counting.
    hooks_s: float = 0.0
    #: Time spent on recording the GPU.
    device_s: float = 0.0
    #: Share of the loop in which calls were measured; the rest is scaled from it (`resting`).
    measured: float = 1.0


@dataclass
class Process:
    """One process of the run, listed with the others."""

    name: str
    pid: int
    wall_s: float
    busy_s: float
    memory_peak_mb: float | None
    ended: bool
    #: Its exit code, if known.
    exit_code: int | None = None
    #: CPU time of all its threads in its loop.
    cpu_s: float = 0.0
    #: The machine that it ran on.
    host: str = ""

    def share(self, seconds: float) -> float:
        """These seconds as a share of its time."""
        return seconds / self.wall_s if self.wall_s > 0 else 0.0

    @property
    def busy_share(self) -> float:
        """Share of its time in phases."""
        return self.share(self.busy_s)


@dataclass
class RunRow:
    """One row of the run's table: a phase in one kind of processes, in seconds of the loop."""

    name: str
    #: `main`, or the name of processes of one kind without their number.
    process: str
    processes: int
    #: How the time was spent: see `run_table`.
    kind: str
    seconds: float
    share: float
    #: The function with the most time there, as sampled.
    file: str = ""
    line: int = 0
    function: str = ""
    #: For other processes in no phase: the program's function, such as one that a pool calls.
    inside: str = ""

    @property
    def label(self) -> str:
        """The name of the row in a table."""
        return f"(in {self.inside})" if self.inside else self.name

    @property
    def source_line(self) -> SourceLine | None:
        return SourceLine(self.file, self.line, self.function) if self.file else None


@dataclass
class Analysis:
    """The analysis of a capture."""

    name: str
    run: Run
    overhead: Overhead
    #: Shares of the loop: in phases that are identified, and in code that nothing explains.
    coverage: float
    unexplained: float
    #: Seconds of the loop in no phase.
    outside_s: float
    #: Of the loop, in every process; then those before and after it, in the main process.
    phases: list[Phase]
    startup: list[Phase]
    after: list[Phase]
    #: Sampled in the loop, in every process; then the main process's own, exactly timed.
    functions: list[Function]
    exact_functions: list[ExactFunction]
    processes: list[Process]
    loop_windows: list[Window]
    notes: Notes
    #: Lines and values of the capture that could not be read.
    damaged: int
    damaged_values: int
    #: Functions of other threads of the main process, without their waiting.
    thread_functions: list[Function] = field(default_factory=list)
    #: Whole stacks of every process, for rules that ask who called whom.
    samples: list[Sample] = field(default_factory=list)
    #: The same of the main process before its loop.
    startup_samples: list[Sample] = field(default_factory=list)
    #: Rules that failed -> their error; a report says so.
    failed_rules: dict[str, str] = field(default_factory=dict)
    #: Notes of the other processes, by their names.
    worker_notes: dict[str, Notes] = field(default_factory=dict)
    #: How the loop changed over time; None for an analysis without windows.
    trends: Trends | None = None
    #: How good the agent was.
    returns: RunReturns = field(default_factory=RunReturns)
    #: The accelerator; None of a run without one.
    device: DeviceUse | None = None
    #: One-time work inside the loop: the first reset, imports, compilation.
    once: list[Once] = field(default_factory=list)
    #: What bounds each phase's own time, and the whole loop.
    bounds: dict[str, Bound] = field(default_factory=dict)
    bound: Bound | None = None
    #: What bounds each other process's own loop, by its name.
    process_bounds: dict[str, Bound] = field(default_factory=dict)
    #: The loop across processes; empty for a run of one process. See `run_table`.
    run_table: list[RunRow] = field(default_factory=list)
    #: The result of `hotloop prove` for this capture, or None.
    proof: Proof | None = None

    @property
    def largest_share_error(self) -> float:
        """The largest standard error of a phase's share; 0 if every call was measured."""
        return max((phase.share_error or 0.0 for phase in self.phases), default=0.0)

    @property
    def was_cut(self) -> bool:
        """Whether the program was stopped early, so that its length means nothing."""
        stopped = self.notes.stop_after is not None and self.notes.stop_reached is not False
        return self.run.end is None or stopped

    @cached_property
    def phases_of(self) -> dict[str, list[Phase]]:
        """Process -> its phases: there may be a thousand processes."""
        found: dict[str, list[Phase]] = {}
        for phase in self.phases:
            found.setdefault(phase.process, []).append(phase)
        return found

    @property
    def training_phases(self) -> list[Phase]:
        """The phases of the thread that trains."""
        return of_main_thread(self.phases)

    def name_of(self, process: str) -> str:
        """A process as people know it: inside an analysis, the one that trains is `main`."""
        return (self.notes.trains_in or process) if process == "main" else process

    def notes_of(self, process: str) -> Notes:
        """The notes of a process; empty for one that left none."""
        return self.notes if process == "main" else self.worker_notes.get(process, Notes())

    @property
    def all_notes(self) -> list[Notes]:
        """The notes of every process, the main one's first."""
        return [self.notes, *self.worker_notes.values()]

    def phase(self, path: str, process: str = "main") -> Phase | None:
        """The phase at that path, if there was one."""
        for phase in self.phases_of.get(process, ()):
            if phase.path == path:
                return phase
        return None
