"""How far figures that are measured in stretches are off: `python -m benchmarks.resting CAPTURE...`

Takes captures in which every call was measured (`hotloop run --every-call`), hides what hooks would
not have seen while they rest, in nine of ten seconds after a quarter of the run, and compares the
figures that are scaled from what is left with those of the whole run. The truth is of the same run,
so the machine makes no difference: two runs of a program differ by more.
"""

from __future__ import annotations

import argparse
import random
import statistics
import sys
from dataclasses import dataclass, replace
from pathlib import Path

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Analysis
from hotloop.analyze.stretches.resting import whole
from hotloop.capture import schema
from hotloop.capture.reader import CaptureReader, Shard
from hotloop.capture.schema import Notes
from hotloop.capture.window import PhaseDelta, Window
from hotloop.diagnose import diagnose
from hotloop.measure.stretches import ALWAYS_ON, HIGHEST_SHARE
from hotloop.phases import REST

#: Share of the windows that is measured in full at the beginning.
FULL_PART = 0.25


@dataclass(frozen=True)
class Difference:
    """Of the figures with stretches to those of the same run with every call."""

    phase_points: float
    phase: str
    function_points: float
    function: str
    #: Share of the samples between stretches that got their true phase.
    right: float
    first_finding: tuple[str, str]

    def __str__(self) -> str:
        found, true = self.first_finding
        same = "same first finding" if found == true else f"{found} instead of {true}"
        return (
            f"phases {self.phase_points:.2f} points off at most ({self.phase}), functions "
            f"{self.function_points:.2f} ({self.function}), {self.right:.1%} of samples in their "
            f"phase, {same} ({true or 'none'})"
        )


def compare(folder: Path, seed: int) -> Difference:
    """Hide most of a capture, and look at what the analysis makes of the rest."""
    capture = CaptureReader(folder).read(final=True)
    hidden = [hide(shard, random.Random(seed)) for shard in capture.shards]
    scaled = [whole(shard) for shard in hidden]
    true, found = analyze(capture), analyze(replace(capture, shards=scaled))
    phases = _differences(_phases(found), _phases(true))
    functions = _differences(_functions(found), _functions(true))
    worst_phase = max(phases, key=lambda name: phases[name])
    worst_function = max(functions, key=lambda name: functions[name], default="")
    first = tuple(next((f.id for f in diagnose(each)), "") for each in (found, true))
    return Difference(
        phases[worst_phase],
        worst_phase,
        functions.get(worst_function, 0.0),
        worst_function,
        _right(capture.main, scaled[0]),
        (first[0], first[1]),
    )


def hide(shard: Shard, chance: random.Random) -> Shard:
    """The shard as if hooks had rested in most of its windows."""
    names = {name for w in shard.windows for path in w.phases for name in path.split("/")}
    rested = frozenset(names) - ALWAYS_ON - {""}
    loop = [window for window in shard.windows if window.loop_last_ns]
    full = len(loop) * FULL_PART
    windows: list[Window] = []
    period = round(1 / HIGHEST_SHARE)
    measured = {i + chance.randrange(1, period) for i in range(int(full), len(loop), period)}
    for window in shard.windows:
        at = len(windows) - (len(shard.windows) - len(loop))
        if at < full:
            windows.append(window)
            continue
        gauges = {**window.gauges, schema.STRETCHES: 1}
        seen = window if at in measured else _hidden(window, rested)
        windows.append(replace(seen, gauges=gauges))
    raw = {**shard.notes.raw, Notes.rested: sorted(rested)}
    return replace(shard, windows=windows, notes=Notes(raw))


def _hidden(window: Window, rested: frozenset[str]) -> Window:
    phases: dict[str, PhaseDelta] = {}
    for path, delta in window.phases.items():
        at = _at_rest(path, rested)
        kept = at == path or (at != REST and path.rpartition("/")[2] not in rested)
        known = phases.setdefault(at, PhaseDelta())
        known.add(delta if kept else PhaseDelta(self_ns=delta.self_ns))
    phases.setdefault(REST, PhaseDelta()).calls += 1
    samples = {}
    for (path, stack, mode), (count, ns) in window.samples.items():
        entry = samples.setdefault((_at_rest(path, rested), stack, mode), [0, 0])
        entry[0] += count
        entry[1] += ns
    counters = {k: v for k, v in window.counters.items() if k not in schema.RESTED_COUNTERS}
    return replace(window, phases=phases, samples=samples, counters=counters)


def _at_rest(path: str, rested: frozenset[str]) -> str:
    """Where the time of a node is found while hooks rest."""
    if path.startswith("@"):
        return path
    kept = [name for name in path.split("/") if name and name not in rested]
    return "/".join([REST, *kept])


def _right(true: Shard, found: Shard) -> float:
    """Share of the sampled time that is in the same phase as in the whole run."""
    same = total = 0
    for one, other in zip(true.windows, found.windows, strict=True):
        if one.samples is other.samples or not other.gauges.get(schema.STRETCHES):
            continue
        for key, (_, ns) in one.samples.items():
            if not key[0].startswith("@"):
                total += ns
                same += min(ns, other.samples.get(key, [0, 0])[1])
    return same / total if total else 1.0


def _phases(analysis: Analysis) -> dict[str, float]:
    return {phase.path: phase.share for phase in analysis.phases if phase.process == "main"}


def _functions(analysis: Analysis) -> dict[str, float]:
    shares: dict[str, float] = {}
    for each in analysis.functions:
        if each.process == "main":
            name = f"{each.function} in {each.phase or 'no phase'}"
            shares[name] = shares.get(name, 0.0) + each.share
    return shares


def _differences(found: dict[str, float], true: dict[str, float]) -> dict[str, float]:
    """Name -> points between its two shares."""
    names = found.keys() | true.keys()
    return {name: 100 * abs(found.get(name, 0.0) - true.get(name, 0.0)) for name in names}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("captures", nargs="+", type=Path)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    worst = []
    for folder in options.captures:
        difference = compare(folder, options.seed)
        worst.append(difference.phase_points)
        print(f"{folder.name}: {difference}", flush=True)
    print(f"median of the worst phases: {statistics.median(worst):.2f} points")
    return 0


if __name__ == "__main__":
    sys.exit(main())
