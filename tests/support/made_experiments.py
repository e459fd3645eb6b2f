"""Experiments as their runs would leave them, with hostile names, made without any run."""

from __future__ import annotations

import math
import random
from pathlib import Path

from recorded_run import HOSTILE

from hotloop.analyze.comparing.compare import Comparison, Figures, compare_pairs
from hotloop.analyze.comparing.experiments import Claim, Investigation, PairedResult, Sweep, Tried
from hotloop.analyze.comparing.hypothesis import (
    FAILED,
    ClaimVerdict,
    judge_gain,
    judge_slope,
    parse_gain,
)
from hotloop.analyze.comparing.hypothesis import Expected as Claimed
from hotloop.analyze.comparing.judgement import MARGIN
from hotloop.analyze.comparing.scaling import (
    Trial,
    add_efficiency,
    expectation,
    growth_of,
    is_numeric,
    knee,
    points_of,
)

STEP = {"env.step": 3e-3, "collect": 1e-4, "learn": 1e-3, HOSTILE[0]: 8e-4, "": 2e-4}
NAMES = (HOSTILE[1], "after")


def pairs_of(
    second: dict[str, float], n: int = 8, updates: tuple[float, float] = (1.0, 1.0)
) -> list[tuple[Figures, Figures]]:
    chance = random.Random(3)

    def side(phases: dict[str, float], gradient_steps: float) -> Figures:
        own = {name: s * math.exp(chance.gauss(0, 0.01)) for name, s in phases.items()}
        work = {"gradient_steps": gradient_steps}
        return Figures(sum(own.values()), own, dict(own), work, waited=0.03)

    return [(side(STEP, updates[0]), side(second, updates[1])) for _ in range(n)]


def comparison(factor: float = 3.0, **more: object) -> Comparison:
    """The second has an environment that is this many times faster."""
    second = {**STEP, "env.step": STEP["env.step"] / factor}
    made = compare_pairs(pairs_of(second, **more), "env_steps", NAMES)  # type: ignore[arg-type]
    made.notes.append(f"a note about {HOSTILE[0]}")
    return made


def result(made: Comparison, folder: str = "runs/hotloop/compare-1") -> PairedResult:
    pairs = pairs_of({**STEP, "env.step": 1e-3})
    samples = [a.seconds for a, _ in pairs], [b.seconds for _, b in pairs]
    commands = "train.py", f"train.py --name={HOSTILE[0]}"
    return PairedResult(made, commands, folder, samples)


def sweep(values: list[str], other: list[str] | None = None, cut: bool = True) -> Sweep:
    """Environments that gain less and less; `other` makes it a grid."""
    chance = random.Random(5)
    variables = {"envs": values} | ({"ratio": other} if other else {})
    trials = []
    for number in range(3):
        for index, value in enumerate(values):
            for nth, more in enumerate(other or [""]):
                n = float(value) if is_numeric(values) else index + 1.0
                own = {"env.step": 4e-3 / min(n, 8) * (1 + nth), "learn": 1e-4, HOSTILE[0]: 5e-5}
                own = {name: s * math.exp(chance.gauss(0, 0.01)) for name, s in own.items()}
                figures = Figures(sum(own.values()), own, own, {}, memory_mb=100.0 * n)
                steps = 1000.0 if cut else 100.0 * n
                loop_s = figures.seconds * steps
                setting = (value, more) if other else (value,)
                trials.append(Trial(setting, number, figures, loop_s, steps))
    points = points_of(trials)
    made = Sweep(
        f"train.py --envs {{envs}} {HOSTILE[1]}", variables, "env_steps", "1000steps" if cut else None,
        points, [], {}, [], "runs/hotloop/sweep-1", 3,
    )  # fmt: skip
    if is_numeric(values):
        made.growths.append(growth_of(trials, "envs", 0))
        if not other:
            add_efficiency(points, 0)
            found = knee(points, 0, grows=not cut)
            made.knees = {"envs": found} if found else {}
            made.expected.append(expectation(trials, "linear", "envs", 0, cut))
    return made


def investigation() -> Investigation:
    """A claim that holds, one that does not, a delay, and one that could not be tried."""
    made = Investigation(
        "train.py --slow", "runs/hotloop/investigate-1", "1000steps", 1.5, 5.0, baseline_s=5e-3
    )

    def claim(name: str, expected: str, change: str) -> Claim:
        return Claim(name, f"claims {HOSTILE[0]}", change, parse_gain(expected), expected, "high")

    fast, none = comparison(3.0), comparison(1.0)
    for name, expected, against in (("fast env", "1.5-3x", fast), (HOSTILE[1], ">4x", none)):
        hypothesis = claim(name, expected, "--turbo")
        verdict = judge_gain(hypothesis.expected, against.whole, MARGIN)
        made.tried.append(Tried(hypothesis, verdict, against))
    slow = "slow env.step by 1ms, 2ms"
    delay = Claim(
        "on the path", "it matters", slow, Claimed(0.75, 1.25), "critical", "medium", True, True
    )
    slopes = [0.97, 1.01, 1.03, 0.99, 1.0, 1.02]
    made.tried.append(Tried(delay, judge_slope(delay.expected, slopes), slopes=slopes))
    broken = claim("broken", "2x", "patch no.patch")
    made.tried.append(Tried(broken, ClaimVerdict(FAILED, f"it printed {HOSTILE[0]}")))
    made.combined, made.combined_of = fast, ["fast env", HOSTILE[0]]
    made.left_out = {HOSTILE[1]: "it is no fix"}
    return made


def written(folder: Path, name: str, page: str) -> Path:
    path = folder / f"{name}.html"
    path.write_text(page, encoding="utf-8")
    return path
