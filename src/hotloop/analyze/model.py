"""What an analysis says: plain data, the same for every renderer and every rule."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

from hotloop.analyze.trends import Trends
from hotloop.capture.window import Window

if TYPE_CHECKING:
    from hotloop.analyze.bounds import Bound
    from hotloop.analyze.device import DeviceUse


class Later:
    """A figure that may be given as the way to work it out, which is done when it is read.

    Quantiles need every stored histogram decoded, and most of a long run's are never looked at.
    """

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = "_" + name

    @overload
    def __get__(self, phase: None, owner: type) -> Later: ...
    @overload
    def __get__(self, phase: object, owner: type) -> float: ...
    def __get__(self, phase: object | None, owner: type) -> Later | float:
        if phase is None:
            raise AttributeError(self._name)  # says to dataclass that there is no default
        value = getattr(phase, self._name)
        if callable(value):
            value = value()
            setattr(phase, self._name, value)
        return float(value)

    def __set__(self, phase: object, value: float | Callable[[], float]) -> None:
        setattr(phase, self._name, value)


@dataclass
class Phase:
    """One place of the region tree of one process, its own cost taken out."""

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
    #: Device time of the kernels launched here and below; None where no device was recorded.
    device_s: float | None = None
    score: float = 0.0
    marks: list[str] = field(default_factory=list)
    how: str = "named"
    python_share: float | None = None
    native_share: float | None = None
    waiting_share: float | None = None

    @property
    def parent(self) -> str:
        return self.path.rpartition("/")[0]


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


@dataclass(frozen=True)
class Frame:
    """One frame of a sampled stack."""

    file: str
    function: str
    first_line: int
    line: int
    of_program: bool


@dataclass(frozen=True)
class Sample:
    """All moments at which one stack was seen in one phase of one process."""

    path: str
    process: str
    #: From the inside out, hotloop's own left out.
    frames: tuple[Frame, ...]
    seconds: float
    waiting: bool = False


@dataclass
class Overhead:
    """What hotloop itself cost, and whether that was taken out of the figures."""

    region_ns: float
    regions: int
    share: float
    corrected: bool
    sampler_s: float
    recorder_s: float
    #: What hooks took between regions: looking at results, counting.
    hooks_s: float = 0.0


@dataclass
class Run:
    """The run as a whole."""

    command: list[str]
    wall_s: float
    startup_s: float
    loop_s: float
    after_s: float
    counters: dict[str, float]
    device: str
    processes: int
    header: dict[str, Any]
    end: dict[str, Any] | None
    memory_peak_mb: float | None
    cpu_share: float | None

    @property
    def failed(self) -> bool:
        """Whether the program ended by itself, with an error."""
        return bool(self.end and self.end.get("code"))

    @property
    def env_steps(self) -> int:
        return int(self.counters.get("env_steps", 0))

    @property
    def steps_per_s(self) -> float:
        return self.env_steps / self.loop_s if self.loop_s > 0 else 0.0

    @property
    def steps_per_episode(self) -> float | None:
        episodes = self.counters.get("episodes", 0)
        return self.env_steps / episodes if episodes else None

    @property
    def updates_per_step(self) -> float | None:
        if not self.env_steps or "gradient_steps" not in self.counters:
            return None
        return self.counters["gradient_steps"] / self.env_steps

    @property
    def batch_size(self) -> float | None:
        updates = self.counters.get("gradient_steps", 0)
        rows = self.counters.get("samples", 0)
        return rows / updates if updates and rows else None


@dataclass
class Process:
    """One process of the run, beside the others."""

    name: str
    pid: int
    wall_s: float
    busy_s: float
    memory_peak_mb: float | None
    ended: bool


@dataclass
class Analysis:
    """A capture, understood."""

    name: str
    run: Run
    overhead: Overhead
    coverage: float
    unexplained: float
    outside_s: float
    phases: list[Phase]
    startup: list[Phase]
    after: list[Phase]
    functions: list[Function]
    exact_functions: list[dict[str, Any]]
    processes: list[Process]
    loop_windows: list[Window]
    notes: dict[str, Any]
    damaged: int
    #: Whole stacks of every process, for rules that ask who called whom.
    samples: list[Sample] = field(default_factory=list)
    #: The same of the main process before its loop.
    startup_samples: list[Sample] = field(default_factory=list)
    #: Notes of the other processes, by their names.
    worker_notes: dict[str, dict[str, Any]] = field(default_factory=dict)
    #: How the loop changed as it went on; None of an analysis without windows.
    trends: Trends | None = None
    #: The accelerator; None of a run without one.
    device: DeviceUse | None = None
    #: What bounds each phase's own time, and the whole loop.
    bounds: dict[str, Bound] = field(default_factory=dict)
    bound: Bound | None = None

    @property
    def was_cut(self) -> bool:
        """Whether the program would have gone on, so that its length says nothing."""
        stopped = "stop_after" in self.notes and self.notes.get("stop_reached") is not False
        return self.run.end is None or stopped

    @cached_property
    def phases_of(self) -> dict[str, list[Phase]]:
        """Process -> its phases: there may be a thousand processes."""
        found: dict[str, list[Phase]] = {}
        for phase in self.phases:
            found.setdefault(phase.process, []).append(phase)
        return found

    def phase(self, path: str, process: str = "main") -> Phase | None:
        """The phase at that place, if there was one."""
        for phase in self.phases_of.get(process, ()):
            if phase.path == path:
                return phase
        return None
