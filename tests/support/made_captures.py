"""Captures made by hand: windows, the shards around them, and what the analysis says."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Analysis
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.schema import Header, Notes
from hotloop.capture.window import PhaseDelta, Window

S = 1_000_000_000


def made_shard(
    name: str = "main",
    header: dict[str, Any] | None = None,
    notes: dict[str, Any] | None = None,
    windows: list[Window] | None = None,
    stacks: dict[int, StackRow] | None = None,
) -> Shard:
    """A shard from plain dictionaries, as a reader would decode them."""
    return Shard(name, Header(header), Notes(notes), windows or [], stacks or {})


def change_header(shard: Shard, **changes: object) -> None:
    shard.header = shard.header.changed(changes)


def capture_of(*shards: Shard) -> Capture:
    return Capture(Path("run"), list(shards))


def capture(windows: list[Window], **header: Any) -> Capture:
    """A capture of one process."""
    return capture_of(made_shard("main", header, {}, windows))


def analysis_of(*shards: Shard) -> Analysis:
    return analyze(capture_of(*shards))


# -- phases and windows --


def delta(
    calls: int, self_s: float, elapsed_s: float | None = None, first: float = 0, last: float = 0
) -> PhaseDelta:
    """A phase in a window; first entered and last left at these seconds of the run."""
    elapsed_s = self_s if elapsed_s is None else elapsed_s
    own, elapsed, first_ns, last_ns = (round(s * S) for s in (self_s, elapsed_s, first, last))
    return PhaseDelta(calls, own, elapsed, first_ns=first_ns, last_ns=last_ns)


def one_window(
    phases: dict[str, PhaseDelta], header: dict[str, Any] | None = None, **notes: Any
) -> Analysis:
    """Ten seconds of loop."""
    window = Window(0, 0, 0, 10 * S, phases, loop_last_ns=10 * S)
    return analysis_of(made_shard("main", header, notes, [window]))


def three_parts() -> list[Window]:
    """Two seconds of start-up, three of loop, then an evaluation."""
    importing = {"": delta(0, 0.5, 0), "import": delta(1, 1.5, first=0.1)}
    stepping = {"env.step": delta(10, 1.8, first=2.0, last=3.9), "": delta(0, 0.2, 0)}
    evaluating = {
        "env.step": delta(5, 0.9, first=4.0, last=5.0),
        "evaluate": delta(1, 1.5, first=5.2, last=6.7),
        "": delta(0, 0.6, 0),
    }
    return [
        Window(0, 0, 0, 2 * S, importing),
        Window(1, 1, 2 * S, 4 * S, stepping, loop_last_ns=round(3.9 * S)),
        Window(2, 2, 4 * S, 7 * S, evaluating, {"env_steps": 15}, loop_last_ns=5 * S),
    ]


def second(number: int, steps: int = 10, loop: bool = True, **phases: float) -> Window:
    """One second of a run: phases with their own time in it."""
    begin = number * S
    own = {
        name.replace("_", "."): PhaseDelta(1, round(s * S), round(s * S), 0, 0, 0, begin + 1, begin)
        for name, s in phases.items()
    }
    idle = 1 - sum(phases.values())
    own[""] = PhaseDelta(self_ns=round(idle * S))
    gauges = {"resident": 1e8 + number, "resident_peak": 2e8, "process_cpu_ns": 0.5 * S}
    counters = {"env_steps": steps} if steps else {}
    end = begin + S
    return Window(number, number, begin, end, own, counters, {}, gauges, end if loop else 0)


# -- rollouts and updates, in windows as long as their phases --


def iteration(
    number: int, steps: float, env_ms: float, learn_ms: float = 0.0, **more: Any
) -> Window:
    env_ns, learn_ns = int(env_ms * 1e6), int(learn_ms * 1e6)
    phases = {
        "": PhaseDelta(0, 0, 0),
        "collect": PhaseDelta(1, 0, env_ns),
        "collect/env.step": PhaseDelta(1, env_ns, env_ns),
        "learn": PhaseDelta(1, learn_ns, learn_ns),
    }
    begin = more.get("begin", number * S)
    end = begin + int((env_ms + learn_ms) * 1e6)
    counters = {"env_steps": steps, **more.get("counters", {})}
    return Window(number, number, begin, end, phases, counters, loop_last_ns=end)


def in_a_row(rates: list[tuple[float, float, float]]) -> list[Window]:
    """Iterations of (steps, ms of environment, ms of learning), one after the other."""
    windows: list[Window] = []
    for number, (steps, env_ms, learn_ms) in enumerate(rates):
        begin = windows[-1].end_ns if windows else 0
        windows.append(iteration(number, steps, env_ms, learn_ms, begin=begin))
    return windows


def analysis_of_windows(windows: list[Window], **header: Any) -> Analysis:
    notes = header.pop("notes", {})
    return analysis_of(
        made_shard("main", {"started": 1000.0, "host": "here", **header}, notes, windows)
    )
