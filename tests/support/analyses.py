"""Analyses made by hand: a loop of ten seconds with what a test puts into it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from hotloop.analyze.model import Analysis, Frame, Overhead, Phase, Sample
from hotloop.analyze.over_time.trends import find_trends
from hotloop.analyze.run import Run
from hotloop.capture.schema import End, Header, Notes
from hotloop.capture.window import PhaseDelta, Window
from hotloop.diagnose.finding import Finding, Rule
from hotloop.phases import category_of, names_of

LOOP_S = 10.0
Make = Callable[..., Analysis]


def phase(
    path: str, total_s: float, calls: int = 1000, process: str = "main", **more: Any
) -> Phase:
    name = names_of(path)[-1]
    mean = total_s / calls if calls else 0.0
    given = {"self_s": total_s, "p50_s": mean, "p95_s": mean, "p99_s": mean} | more
    return Phase(
        path=path,
        name=name,
        category=category_of(name),
        process=process,
        thread="main",
        depth=path.count("/"),
        calls=calls,
        total_s=total_s,
        share=total_s / LOOP_S,
        mean_s=mean,
        min_s=mean,
        max_s=mean,
        **given,
    )


def frame(function: str, file: str = "/home/me/train.py", line: int = 10) -> Frame:
    return Frame(file, function, 1, line, "site-packages" not in file and "/lib/python" not in file)


#: The program's own line in which an environment is stepped.
STEP = frame("Market.step", line=40)


def sample(path: str, seconds: float, *frames: Frame, process: str = "main") -> Sample:
    return Sample(path, process, frames, seconds)


def window(number: int, phases: dict[str, tuple[float, int]], **more: Any) -> Window:
    """One second of the loop: phase -> (seconds, calls)."""
    begin = number * 1_000_000_000
    deltas = {
        path: PhaseDelta(calls, round(s * 1e9), round(s * 1e9))
        for path, (s, calls) in phases.items()
    }
    return Window(
        number,
        number,
        begin,
        begin + 1_000_000_000,
        deltas,
        more.get("counters", {}),
        gauges=more.get("gauges", {}),
    )


def make_analysis(
    *phases: Phase,
    samples: list[Sample] | None = None,
    windows: list[Window] | None = None,
    notes: dict[str, Any] | None = None,
    gauges: dict[str, float] | None = None,
    header: dict[str, Any] | None = None,
    loop_s: float = LOOP_S,
    startup: list[Phase] | None = None,
    worker_notes: dict[str, dict[str, Any]] | None = None,
    **counters: float,
) -> Analysis:
    if windows is None and gauges:
        windows = [Window(0, 0, 0, round(loop_s * 1e9), gauges=gauges)]
    begin_s = sum(p.total_s for p in startup or [])
    run = Run(
        command=["train.py", "--seed", "1"],
        wall_s=loop_s + begin_s,
        startup_s=begin_s,
        loop_s=loop_s,
        after_s=0.0,
        counters=dict(counters),
        device="cpu",
        processes=1,
        header=Header({"cores": 4} if header is None else header),
        end=End({"code": 0}),
        memory_peak_mb=None,
        cpu_share=None,
    )
    return Analysis(
        name="run",
        run=run,
        overhead=Overhead(0.0, 0, 0.0, True, 0.0, 0.0),
        coverage=1.0,
        unexplained=0.0,
        outside_s=0.0,
        phases=list(phases),
        startup=startup or [],
        after=[],
        functions=[],
        exact_functions=[],
        processes=[],
        loop_windows=windows or [],
        notes=Notes(notes),
        damaged=0,
        damaged_values=0,
        samples=samples or [],
        worker_notes={name: Notes(each) for name, each in (worker_notes or {}).items()},
        trends=find_trends(windows or []),
    )


def ids(findings: list[Finding]) -> list[str]:
    return [each.id for each in findings]


def found_by(rules: Iterable[Rule], analysis: Analysis) -> list[Finding]:
    return [each for rule in rules for each in rule(analysis)]


@pytest.fixture
def make() -> Make:
    """Makes an analysis by hand."""
    return make_analysis
