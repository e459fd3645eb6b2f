"""Kernel time and critical path of each phase against a full trace of the same program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchmarks.gpu.__main__ import Bench

#: Largest difference allowed: of a phase's share on the critical path, in points, and of its kernel
#: time. Kernel time is compared for phases that have at least this share of all kernel time.
POINTS, KERNELS, WORTH = 0.05, 0.05, 0.02


@dataclass(frozen=True)
class Program:
    """A program, how long its plain run and its traced run are, and the option that fixes it."""

    file: str
    units: str
    count: int
    traced: int
    fix: str | None = None
    #: Which finding must come first; None where no device finding may appear.
    cause: tuple[str, ...] = ()


PROGRAMS = (
    Program("large_actor_critic.py", "--updates", 100, 40, "--tf32", ("tf32-off",)),
    Program(
        "gru_steps.py", "--updates", 150, 20, "--fused", ("launch-bound", "stepwise-recurrence")
    ),
    Program("host_replay.py", "--updates", 1200, 200, "--on-device", ("host-transfers",)),
)


@dataclass
class Compared:
    """One program's figures beside the trace's."""

    program: Program
    plain_s: float
    hotloop_s: float
    #: Phase -> (hotloop's share of the critical path, the trace's).
    critical: dict[str, tuple[float, float]]
    #: Phase -> hotloop's kernel seconds over the trace's, less one.
    kernels: dict[str, float]
    busy: tuple[float | None, float | None]
    first: str | None
    gain: tuple[float, float]
    measured_gain: float | None
    report: dict[str, Any]

    @property
    def points(self) -> float:
        return max((abs(a - b) for a, b in self.critical.values()), default=0.0)

    @property
    def worst_kernels(self) -> float:
        return max((abs(error) for error in self.kernels.values()), default=0.0)

    @property
    def cause_first(self) -> bool:
        return (self.first in self.program.cause) if self.program.cause else self.first is None


def compare(bench: Bench, program: Program, loud: frozenset[str]) -> Compared:
    """Run the program plain, under hotloop, under the trace, and with its fix."""
    arguments = (program.units, str(program.count))
    plain, _ = bench.plain(program.file, *arguments)
    run = bench.hotloop([], program.file, *arguments)
    file = bench.folder / f"{program.file}.json"
    bench.plain(program.file, program.units, str(program.traced), "--truth", str(file))
    truth = json.loads(file.read_text())
    fixed = bench.plain(program.file, *arguments, program.fix)[0] if program.fix else None
    scale = program.count / program.traced
    device = run.report["device"]
    findings = [
        f
        for f in run.report["findings"]
        if f["id"] in loud | set(program.cause) and f["severity"] in ("critical", "warning")
    ]
    first = findings[0] if findings else None
    return Compared(
        program,
        plain,
        run.seconds,
        shares(run.report, run.seconds, truth),
        kernel_errors(device, truth["seconds"], scale),
        (device["kernel_share"], device["figures"]["busy"]),
        first["id"] if first else None,
        (first["gain"]["low"], first["gain"]["high"]) if first else (1.0, 1.0),
        plain / fixed if fixed else None,
        run.report,
    )


def shares(
    report: dict[str, Any], loop_s: float, truth: dict[str, Any]
) -> dict[str, tuple[float, float]]:
    """Shares of the critical path (hotloop's, the trace's) for the ranges that a program marks."""
    said: dict[str, float] = {}
    for phase in report["phases"]:
        if phase["process"] == "main" and phase["critical_self_s"] is not None:
            said[phase["name"]] = said.get(phase["name"], 0.0) + phase["critical_self_s"]
    # A copy inside a range belongs to it in the trace, and is a phase of its own in hotloop.
    return {
        name: (said.get(name, 0.0) / loop_s, seconds / truth["traced_s"])
        for name, seconds in truth["critical"].items()
        if name != "other" and name in said
    }


def kernel_errors(
    device: dict[str, Any], truth: dict[str, float], scale: float
) -> dict[str, float]:
    """Error of hotloop's kernel time, for ranges that have a notable part of all of it."""
    said: dict[str, float] = {}
    for phase in device["phases"]:
        name = phase["path"].rpartition("/")[2]
        said[name] = said.get(name, 0.0) + phase["kernel_s"]
    whole = sum(truth.values())
    return {
        name: said.get(name, 0.0) / (seconds * scale) - 1
        for name, seconds in truth.items()
        if name != "other" and seconds >= WORTH * whole
    }


def text(each: Compared) -> str:
    """One program's cell of the table."""
    shares = ", ".join(f"{n} {a:.1%} against {b:.1%}" for n, (a, b) in each.critical.items())
    kernels = ", ".join(f"{name} {error:+.1%}" for name, error in each.kernels.items())
    busy = " / ".join("?" if b is None else f"{b:.0%}" for b in each.busy)
    gain = f"{each.gain[0]:.2f} to {each.gain[1]:.2f}" if each.first else "none"
    measured = f"{each.measured_gain:.2f}" if each.measured_gain else "no fix"
    return (
        f"critical path: {shares}; kernels: {kernels}; busy (hotloop / driver) {busy}; first "
        f"finding {each.first}, promised {gain}, measured {measured}; loop "
        f"{each.hotloop_s / each.plain_s:.3f} of plain (one run each)"
    )
