"""Checks the training of a marked test against its limits; pytest itself is in `pytest_plugin`."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from hotloop.analyze.analysis import analyze
from hotloop.analyze.comparing.limits import (
    BROKEN,
    KEPT,
    LimitCheck,
    check_phase,
    check_shares,
    check_speed,
)
from hotloop.analyze.comparing.unpaired import compare_captures
from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.contention import Contention, contention
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.reader import Capture
from hotloop.errors import HotloopError
from hotloop.integrations import baseline
from hotloop.integrations.recording import Recording
from hotloop.phases import PHASES
from hotloop.report.results.limits import limit_text
from hotloop.run.folders import as_typed
from hotloop.run.watch import Watch

#: Tests are short: shorter windows than a second give statistics something to work with.
WINDOW_S = 0.2


#: Phases of any program.
NO_TRAINING = frozenset({"import", "wait"})


@dataclass(frozen=True)
class Limits:
    """What a mark asks for."""

    #: Phase -> its largest share of the training loop, 0.05 is 5%.
    max_share: dict[str, float] = field(default_factory=dict)
    #: Steps per second relative to the baseline's: 0.9 is at most 10% fewer.
    min_steps_per_s_ratio: float | None = None
    #: Phase -> how many times its own time per step in the baseline it may take.
    max_phase_ratio: dict[str, float] = field(default_factory=dict)
    #: Also compare where the work per step (gradient steps) is not that of the baseline.
    any_work: bool = False

    @property
    def need_baseline(self) -> bool:
        return self.min_steps_per_s_ratio is not None or bool(self.max_phase_ratio)


def limits_of(arguments: tuple[Any, ...], named: Mapping[str, Any]) -> Limits:
    """The limits of `@pytest.mark.hotloop(...)`; a mistake is reported in one line."""
    known = [each.name for each in fields(Limits)]
    if arguments or set(named) - set(known):
        wrong = ", ".join(map(str, [*arguments, *sorted(set(named) - set(known))]))
        raise HotloopError(f"the marker takes {', '.join(known)}, not {wrong}")
    limits = Limits(**named)
    numbers = [*limits.max_share.values(), *limits.max_phase_ratio.values()]
    numbers += [limits.min_steps_per_s_ratio] if limits.min_steps_per_s_ratio is not None else []
    if any(not isinstance(n, (int, float)) or n <= 0 for n in numbers):
        raise HotloopError(
            "limits must be numbers above 0: max_share 0.05 is 5%, a ratio of 1 means no change"
        )
    return limits


class MarkedTest:
    """One marked test: measures it, then judges."""

    def __init__(self, test: str, limits: Limits, folder: Path, update: bool) -> None:
        self._limits = limits
        self._path = baseline.path_of(folder, test)
        self._update = update
        name = test.rpartition("::")[2]
        self.recording = Recording(
            name=name, quiet=True, window_s=WINDOW_S, command=["pytest", test]
        )
        self._contention = Contention()
        #: What is worth a line in pytest's summary.
        self.lines: list[str] = []

    @contextmanager
    def measuring(self) -> Iterator[None]:
        """Around the test: its own time, and what other programs take from it."""
        watch = Watch()
        try:
            with self.recording:
                yield
        finally:
            self._contention = contention(**vars(watch.stop()))

    def judge(self) -> str | None:
        """After the test: None, or why it fails."""
        folder = self.recording.folder
        if folder is None:
            return None
        capture = read_capture(folder)
        analysis = analyze(capture)
        if analysis.run.startup_s == 0.0 and {p.name for p in analysis.phases} <= NO_TRAINING:
            shutil.rmtree(folder, ignore_errors=True)
            return "no training loop was recognized in this test, so its limits cannot be checked"
        checks = self._checks(capture, analysis)
        broken = [limit_text(check) for check in checks if check.verdict == BROKEN]
        self.lines += [f"{limit_text(check)}: {check.verdict}" for check in checks]
        if all(check.verdict == KEPT for check in checks):
            shutil.rmtree(folder, ignore_errors=True)  # nothing to investigate
        if not broken:
            return None
        more = [f"hotloop report {as_typed(folder)} shows where the time went"]
        return "\n".join(["over its limits by more than noise:", *broken, *more])

    def _checks(self, capture: Capture, analysis: Analysis) -> list[LimitCheck]:
        limits = self._limits
        seen = {phase.name for phase in analysis.phases}
        for name in [*limits.max_share, *limits.max_phase_ratio]:
            if name not in seen and name not in PHASES:
                raise HotloopError(
                    f"no phase {name!r} was recorded; recorded were {', '.join(sorted(seen))}"
                )
        checks = check_shares(analysis, limits.max_share)
        if self._update:
            baseline.store(self._path, capture, self._contention)
            self.lines.append(f"this run is now the baseline: {as_typed(self._path)}")
        elif limits.need_baseline:
            checks += self._beside_baseline(analysis)
        return checks

    def _beside_baseline(self, analysis: Analysis) -> list[LimitCheck]:
        stored = baseline.load(self._path)
        if stored is None:
            self.lines.append(
                f"no baseline yet: create {self._path.name} with pytest --hotloop-update-baseline"
            )
            return []
        limits = self._limits
        before, waited = stored
        comparison = compare_captures(
            before,
            analysis,
            ("baseline", "now"),
            any_work=limits.any_work,
            contentions=(waited, self._contention),
        )
        checks = []
        if limits.min_steps_per_s_ratio is not None:
            checks.append(check_speed(comparison, limits.min_steps_per_s_ratio))
        for phase, most in limits.max_phase_ratio.items():
            checks.append(check_phase(comparison, phase, most))
        return checks


__all__ = ["Limits", "MarkedTest", "limits_of"]
