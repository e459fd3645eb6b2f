"""Time to a return, for people and programs."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from hotloop import units
from hotloop.analyze.comparing.soonest import Soonest
from hotloop.analyze.comparing.time_to_return import (
    CANNOT_TELL,
    LATER,
    NOT_REACHED,
    SOONER,
    Attempt,
    Factor,
    TimeToReturn,
    median_of,
)
from hotloop.report.console.terminal import Style, clean, joined, wrapped
from hotloop.report.plain_data import json_ready

SCHEMA = "hotloop.to_return/1"


def headline(result: TimeToReturn) -> str:
    """B makes 2.1 times the steps/s, needs 1.6 times the steps and reaches 195 1.3 times sooner."""
    second, goal = clean(result.names[1]), units.value(result.target)
    if result.verdict == NOT_REACHED:
        return f"No run reached a return of {goal}: the target is too high, or the runs too short."
    parts = [part for part in (_speed(result.speed), _steps(result.steps)) if part]
    seeds = len(result.attempts[0])
    if _is_open(result.time) and not parts:
        verb = "is" if seeds == 1 else "are"
        return f"{units.plural(seeds, 'seed')} {verb} too few to tell which reaches {goal} sooner."
    return f"{second} {units.listing([*parts, _reaches(result, goal)])}."


def _is_open(factor: Factor | None) -> bool:
    """Whether an interval excludes nothing: there are too few pairs."""
    return factor is None or (factor.low == 0.0 and factor.high == float("inf"))


def _speed(factor: Factor | None) -> str:
    if factor is None or (factor.verdict == 0 and not _is_close(factor)):
        return ""
    if factor.verdict == 0:
        return "is about as fast in steps/s"
    return f"makes {_times(factor.estimate)} the steps/s"


def _steps(factor: Factor | None) -> str:
    if factor is None or (factor.verdict == 0 and not _is_close(factor)):
        return ""
    if factor.verdict == 0:
        return "needs about as many steps"
    if factor.low > 0.0 and factor.high < float("inf"):
        return f"needs {_times(1.0 / factor.estimate)} the steps"
    amount = _times(max(factor.estimate, 1.0 / factor.estimate))
    word = "fewer" if factor.verdict > 0 else "more"
    return f"needs {word} steps (about {amount} within the time observed; no upper end)"


def _is_close(factor: Factor) -> bool:
    return factor.low > 0.9 and factor.high < 1.1


def _reaches(result: TimeToReturn, goal: str) -> str:
    seeds = units.plural(len(result.attempts[0]), "seed")
    factor = result.time
    if factor is None or result.verdict == CANNOT_TELL:
        known = f"factor {_interval(factor)}, " if factor is not None else ""
        return f"may reach {goal} sooner or later: too noisy to say ({known}{seeds})"
    word = {SOONER: "sooner", LATER: "later"}[result.verdict]
    size = (
        factor
        if word == "sooner"
        else Factor(
            1.0 / factor.estimate,
            1.0 / factor.high,
            1.0 / factor.low if factor.low else float("inf"),
        )
    )
    if size.high == float("inf"):
        about = f"about {_times(size.estimate)} within the time observed; no upper end"
        return f"reaches {goal} {word} ({about}, {seeds})"
    return f"reaches {goal} {_times(size.estimate)} {word} ({_interval(size)}, {seeds})"


def _times(factor: float) -> str:
    return f"{factor:.2g} times" if factor < 10 else f"{factor:.0f} times"


def _interval(factor: Factor) -> str:
    if factor.high == float("inf"):
        return "too few seeds for an interval" if factor.low == 0.0 else "no upper end"
    return f"{factor.low:.2g} to {factor.high:.2g}"


def text(result: TimeToReturn, style: Style) -> str:
    """The result as text."""
    blocks = [wrapped(headline(result), style, "bold")]
    if result.trade:
        blocks.append(f"Verdict: {clean(result.names[1])} is {result.trade}.")
    blocks.append("\n".join(table(result)))
    blocks.append(wrapped(method(result), style, "dim"))
    blocks += [wrapped(note, style, "dim") for note in result.notes]
    return joined(blocks)


def table(result: TimeToReturn | Soonest) -> list[str]:
    """One line per setting."""
    names = [clean(name) for name in result.names]
    width = max(len(name) for name in names)
    goal = units.value(result.target)
    lines = [f"{'':{width}}  reached {goal:>6}  median time  median steps    steps/s  return (IQM)"]
    for index, (name, side) in enumerate(zip(names, result.attempts, strict=True)):
        lines.append(
            f"{name:{width}}  {sum(a.reached for a in side):>5} of {len(side):<5}"
            f"  {_median([_shown(a.seconds, a) for a in side], units.seconds):>11}"
            f"  {_median([_shown(a.env_steps, a) for a in side], units.count):>12}"
            f"  {_median([(a.steps_per_s, True) for a in side], units.rate):>9}"
            f"  {_iqm(result, index)}"
        )
    return lines


def _shown(value: float, attempt: Attempt) -> tuple[float, bool]:
    return value, attempt.reached


def _median(values: list[tuple[float, bool]], show: Callable[[float], str]) -> str:
    """When half of the runs had reached the target, or that they took longer."""
    if not values:
        return "-"
    value, reached = median_of(values)
    return f"{'' if reached else '> '}{show(value)}"


def _iqm(result: TimeToReturn | Soonest, index: int) -> str:
    known = result.returns[index] if index < len(result.returns) else None
    if known is None:
        return "-"
    mean, low, high = known
    return f"{units.value(mean)} ({units.value(low)} to {units.value(high)})"


def method(result: TimeToReturn | Soonest) -> str:
    """How it was measured."""
    censored = sum(not each.reached for side in result.attempts for each in side)
    said = (
        "A run reaches the target when the mean return of its last 100 episodes does; times count "
        "from the beginning of the training loop. "
    )
    if censored:
        said += f"{units.plural(censored, 'run')} ended before that and count as censored. "
    return said + (
        "Intervals are 95%, from exchanging sides within pairs. The interquartile mean (IQM) "
        f"is that of the returns after {units.count(result.equal_steps)} steps; its interval "
        "is bootstrapped."
    )


def document(result: TimeToReturn) -> dict[str, Any]:
    """The result as plain data."""
    return {
        "schema": SCHEMA,
        "verdict": result.verdict,
        "trade": result.trade,
        "sentence": headline(result),
        **asdict(result),
    }


def render(result: TimeToReturn, form: str, style: Style) -> str:
    """Text or JSON; infinite ends of intervals are null."""
    if form == "json":
        return json.dumps(json_ready(document(result)), indent=1) + "\n"
    return text(result, style)
