"""Which of several settings reaches a return soonest, for people and programs."""

from __future__ import annotations

import json
from dataclasses import asdict

from hotloop import units
from hotloop.analyze.comparing.soonest import Soonest
from hotloop.analyze.comparing.time_to_return import Factor, median_of
from hotloop.report.console.terminal import Style, clean, joined, wrapped
from hotloop.report.plain_data import json_ready
from hotloop.report.results.to_return import method, table

SCHEMA = "hotloop.soonest/1"


def headline(result: Soonest) -> str:
    """envs=8 reaches 195 soonest (median 12.3 s, 8 seeds)."""
    goal = units.value(result.target)
    if not any(result.attempts):
        return "Interrupted before the first round ended."
    if result.best is None:
        return f"No run reached a return of {goal}: the target is too high, or the runs too short."
    side = result.attempts[result.best]
    at, reached = median_of([(each.seconds, each.reached) for each in side])
    took = f"median {'' if reached else 'above '}{units.seconds(at)}"
    seeds = units.plural(len(side), "seed")
    return f"{clean(result.names[result.best])} reaches {goal} soonest ({took}, {seeds})."


def against(result: Soonest) -> str:
    """How sure that is, setting by setting."""
    sure, unsure = [], []
    for name, factor in zip(result.names, result.sooner, strict=False):
        if factor is not None and factor.verdict > 0:
            sure.append(f"{_times(factor)} sooner than {clean(name)}")
        elif factor is not None:
            unsure.append(clean(name))
    said = [f"It is {units.listing(sure)}."] if sure else []
    if unsure:
        seeds = units.plural(len(result.attempts[0]), "seed")
        verb = "does" if len(result.attempts[0]) == 1 else "do"
        said.append(f"{seeds} {verb} not distinguish it from {units.listing(unsure)}.")
    return " ".join(said)


def _times(factor: Factor) -> str:
    if factor.high == float("inf"):
        return f"at least {factor.low:.2g} times" if factor.low >= 1.005 else "certainly"
    return f"{factor.estimate:.2g} times ({factor.low:.2g} to {factor.high:.2g})"


def front(result: Soonest) -> str:
    """Which settings trade speed for learning; empty if returns are not known."""
    names = [clean(result.names[number]) for number in result.front]
    if not names:
        return ""
    if len(names) == 1:
        return f"{names[0]} is best in both steps/s and return after equal steps."
    return (
        f"Pareto front of steps/s and return after equal steps: {units.listing(names)}; every "
        "other setting is beaten in both."
        if len(names) < len(result.names)
        else "Every setting trades steps/s for return: none is beaten in both."
    )


def render(result: Soonest, form: str, style: Style) -> str:
    """Text or JSON; infinite ends of intervals are null."""
    if form == "json":
        document = {"schema": SCHEMA, "sentence": headline(result), **asdict(result)}
        return json.dumps(json_ready(document), indent=1) + "\n"
    blocks = [wrapped(headline(result), style, "bold")]
    blocks += [wrapped(each, style) for each in (against(result), front(result))]
    blocks.append("\n".join(table(result)))
    blocks.append(wrapped(method(result), style, "dim"))
    blocks += [wrapped(note, style, "dim") for note in result.notes]
    return joined(blocks)
