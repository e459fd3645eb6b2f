"""A sweep for people (text) and for programs (JSON, `hotloop.sweep/1`)."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import Any

from hotloop import units
from hotloop.analyze.comparing.compare import one_of
from hotloop.analyze.comparing.experiments import Sweep
from hotloop.analyze.comparing.scaling import NOTABLE, Deviation, Expectation, PowerLaw, Setting
from hotloop.analyze.comparing.statistics import Interval
from hotloop.capture import schema
from hotloop.phases import NO_PHASE, NO_PHASE_LABEL
from hotloop.report.console.terminal import Style, clean, columns, joined, paragraphs, wrapped
from hotloop.report.plain_data import interval_document
from hotloop.report.results.comparison import times

SCHEMA = "hotloop.sweep/1"

#: Phases in the table: more do not fit, and the JSON has them all.
MOST_PHASES = 4
#: Rates that are known no better than this cannot be ranked: one may be twice the other.
NOISY = 0.5


def sweep_text(sweep: Sweep, style: Style) -> str:
    """The whole sweep, as text."""
    blocks = [
        _title(sweep, style),
        wrapped(headline(sweep), style, "bold", "green"),
        _table(sweep, style),
        *[_expectation(expected, sweep, style) for expected in sweep.expected],
        paragraphs(growth_sentences(sweep), style),
        paragraphs(small_print(sweep), style, "dim"),
    ]
    return joined(blocks)


def _title(sweep: Sweep, style: Style) -> str:
    head = style.paint("hotloop sweep", "bold", "cyan") + f"  {clean(sweep.command)}"
    return f"{head}\n  {design_in_words(sweep)}"


def design_in_words(sweep: Sweep) -> str:
    """How many settings, how often, how long."""
    cut = f", each run ends after {sweep.stop_after}" if sweep.stop_after else ""
    return (
        f"{units.plural(len(sweep.points), 'setting')}, {units.plural(sweep.rounds, 'round')}{cut}"
    )


def headline(sweep: Sweep) -> str:
    """The best setting, and either the unexpected or the knee, which limit going further."""
    if len(sweep.points) < 2:
        return "Only one setting was measured, so there is nothing to compare it with."
    sentences = [_best(sweep)]
    if sweep.expected:
        expected = sweep.expected[0]
        last = expected.rows[-1]
        sentences.append(f"{expected.variable}={last.value} is {slower_in_words(last)}.")
    else:
        sentences += [_knee(sweep, name, value) for name, value in list(sweep.knees.items())[:1]]
    return clean(" ".join(sentences))


def _best(sweep: Sweep) -> str:
    best, first = fastest(sweep), sweep.points[0]
    rate = f"{units.rate(best.throughput)} steps/s"
    if _too_noisy(sweep):
        return (
            "The runs differ too much to tell which setting is the fastest: add --rounds, "
            "or measure on a quiet machine."
        )
    equal = _equal_to(sweep, best)
    if equal:
        names = units.listing(setting_name(sweep, each) for each in [best, *equal[:2]])
        about = units.rate(float(f"{best.throughput:.2g}"))
        return f"{names} are the fastest, with no clear difference: about {about} steps/s."
    name = setting_name(sweep, best)
    if best is first:
        return f"{name} is the fastest: {rate}."
    times_first = f"{times(best.times(first))} times {setting_name(sweep, first)}"
    return f"{name} is the fastest: {rate}, {times_first}."


def setting_name(sweep: Sweep, point: Setting) -> str:
    """ "envs=64 ratio=2"."""
    return " ".join(f"{n}={v}" for n, v in zip(sweep.variables, point.values, strict=True))


def fastest(sweep: Sweep) -> Setting:
    """The setting with the most steps per second."""
    return max(sweep.points, key=lambda point: point.throughput)


def _equal_to(sweep: Sweep, best: Setting) -> list[Setting]:
    return [each for each in sweep.points if each is not best and each.may_equal(best)]


def _too_noisy(sweep: Sweep) -> bool:
    """Whether other settings may be as fast as the fastest because the runs of one differ."""
    best = fastest(sweep)
    equal = _equal_to(sweep, best)
    return bool(equal) and any((each.spread or 0.0) > NOISY for each in [best, *equal])


# -- the table --


def _table(sweep: Sweep, style: Style) -> str:
    """With as many phases as there is room for; the page and the JSON have them all."""
    phases = largest_phases(sweep.points)[:MOST_PHASES]
    table = _cells(sweep, phases)
    while phases and max(map(len, _aligned(table))) > style.width:
        phases.pop()
        table = _cells(sweep, phases)
    head, *lines = _aligned(table)
    return "\n".join([style.paint(head, "dim"), *lines])


def _cells(sweep: Sweep, phases: list[str]) -> list[list[str]]:
    efficiency = any(point.efficiency is not None for point in sweep.points)
    head = [*sweep.variables, "steps/s", "time", f"per {_short(sweep.unit)}", *phases, "memory"]
    rows = [[clean(cell) for cell in [*head, *(["efficiency"] if efficiency else []), ""]]]
    for point in sweep.points:
        cells = [*map(clean, point.values), rate_in_words(point)]
        cells += [units.seconds(point.loop_s), units.seconds(point.seconds)]
        cells += [units.seconds(point.own.get(name, 0.0)) for name in phases]
        cells.append(units.megabytes(point.memory_mb) if point.memory_mb is not None else "")
        if efficiency:
            cells.append(f"{point.efficiency:.0%}" if point.efficiency is not None else "")
        rows.append([*cells, ", ".join(marks_of(sweep, point))])
    return rows


def _aligned(rows: list[list[str]]) -> list[str]:
    """Align numbers on the right and the marks behind them on the left."""
    sides = ">" * (len(rows[0]) - 1) + "<"
    return [line.rstrip() for line in columns(rows, sides)]


def _short(unit: str) -> str:
    return {schema.ENV_STEPS: "step", schema.GRADIENT_STEPS: "update"}.get(unit, "iteration")


def rate_in_words(point: Setting) -> str:
    """Steps per second with their uncertainty."""
    text = units.rate(point.throughput)
    return text if point.spread is None else f"{text} ±{_rough(point.spread)}"


def _rough(share: float) -> str:
    """An uncertainty: two digits are enough."""
    if share > 1:
        return "more than 100%"
    return f"{share:.0%}" if share >= 0.095 else units.percent(share)


def marks_of(sweep: Sweep, point: Setting) -> list[str]:
    """Marks of unusual settings."""
    clear = len(sweep.points) > 1 and not _too_noisy(sweep)
    marks = ["fastest"] if clear and point is fastest(sweep) else []
    for index, name in enumerate(sweep.variables):
        if sweep.knees.get(name) == point.values[index]:
            marks.append("knee")
    return marks


def largest_phases(points: list[Setting]) -> list[str]:
    """Phases with a notable share of some setting's time, the largest first."""
    shares: dict[str, float] = {}
    for point in points:
        for name, seconds in point.own.items():
            shares[name] = max(shares.get(name, 0.0), point.share(seconds))
    ordered = sorted((name for name in shares if name != NO_PHASE), key=lambda n: -shares[n])
    return [name for name in ordered if shares[name] >= 0.02]


# -- what it means --


def _expectation(expected: Expectation, sweep: Sweep, style: Style) -> str:
    lines = [style.paint(f"Expected: {meaning(expected)}", "bold")]
    show = units.rate if expected.quantity == "steps_per_s" else units.seconds
    unit = " steps/s" if expected.quantity == "steps_per_s" else ""
    for row in expected.rows[1:]:
        name = f"{expected.variable}={row.value}"
        figures = f"expected {show(row.expected)}{unit}, actual {show(row.actual)}{unit}"
        lines.append(f"  {clean(name)}: {figures}, {slower_in_words(row)}")
    return "\n".join([*lines, *(f"  {line}" for line in blame_sentences(expected, sweep))])


def blame_sentences(expected: Expectation, sweep: Sweep) -> list[str]:
    """The phase responsible for the excess, and the parts of the excess."""
    lines = []
    if expected.responsible is not None:
        last = f"{expected.variable}={expected.rows[-1].value}"
        phase = clean(expected.responsible or "time in no phase")
        part = units.percent(expected.part)
        lines.append(f"At {clean(last)}, {phase} is responsible for {part} of the excess.")
    if expected.steps_factor is not None and expected.step_time_factor is not None:
        lines.append(
            f"Of that factor, {times(expected.steps_factor)} comes from more steps and "
            f"{times(expected.step_time_factor)} from more time per {one_of(sweep.unit)}."
        )
    return lines


def meaning(expected: Expectation) -> str:
    """The expectation in words."""
    variable = clean(expected.variable)
    return {
        "linear-throughput": f"throughput in proportion to {variable}",
        "linear-time": f"time in proportion to {variable}",
        "constant": f"the same time per step whatever {variable} is",
    }[expected.kind]


def slower_in_words(row: Deviation) -> str:
    """ "14 times slower than predicted", or "as predicted"."""
    reach = max(abs(row.factor.low), abs(row.factor.high))
    if not row.factor.excludes_zero and reach <= math.log1p(NOTABLE):
        return f"as predicted (within ±{units.percent(math.expm1(reach))})"
    factor = math.exp(abs(row.factor.estimate))
    direction = "slower" if row.factor.estimate > 0 else "faster"
    doubt = (
        "" if row.factor.excludes_zero else ", but the rounds are too few or too noisy to be sure"
    )
    return f"{times(factor)} times {direction} than predicted{doubt}"


def growth_sentences(sweep: Sweep) -> list[str]:
    """The growth of time with each variable, the steepest phase, and the knee."""
    lines = []
    for growth in sweep.growths:
        name = clean(growth.variable)
        if not growth.exponent.excludes_zero:
            known = math.isfinite(growth.exponent.half)
            depends = (
                "does not clearly depend"
                if known
                else "was measured too few times to tell how it depends"
            )
            lines.append(
                f"Time per {one_of(sweep.unit)} {depends} on {name} (exponent "
                f"{power(growth.exponent)})."
            )
            continue
        lines.append(
            f"Time per {one_of(sweep.unit)} scales as {name} to the power of "
            f"{power(growth.exponent)}."
        )
        steepest = _steepest(growth)
        if steepest is not None:
            phase, interval = steepest
            lines.append(
                f"The steepest phase is {clean(phase or 'time in no phase')}: {power(interval)}."
            )
        if growth.variable in sweep.knees:
            lines.append(clean(_knee(sweep, growth.variable, sweep.knees[growth.variable])))
    return lines


def _knee(sweep: Sweep, name: str, value: str) -> str:
    why = "bring little more" if sweep.stop_after else "take more than their share of time"
    return f"The knee is at {name}={value}: larger values {why}."


def _steepest(growth: PowerLaw) -> tuple[str, Interval] | None:
    known = {n: i for n, i in growth.phases.items() if i.excludes_zero}
    if not known:
        return None
    name = max(known, key=lambda n: known[n].estimate)
    return name, known[name]


def power(interval: Interval) -> str:
    """An exponent with its interval."""
    if not math.isfinite(interval.half):
        return f"{interval.estimate:.2f}"
    return f"{interval.estimate:.2f} ({interval.low:.2f} to {interval.high:.2f})"


def small_print(sweep: Sweep) -> list[str]:
    """Failed and repeated runs."""
    lines = [f"{clean(name)} failed once and was repeated." for name in sweep.retried]
    for failure in sweep.failures:
        lines.append(f"{clean(failure.name)} {failure.why}: it is left out of later rounds.")
    if sweep.interrupted:
        lines.append("Interrupted: these are the finished rounds.")
    return lines


# -- JSON --


def sweep_document(sweep: Sweep) -> dict[str, Any]:
    """The whole sweep as plain data; fields may be added, never renamed."""
    return {
        "schema": SCHEMA,
        "command": sweep.command,
        "vary": sweep.variables,
        "unit": sweep.unit,
        "stop_after": sweep.stop_after,
        "rounds": sweep.rounds,
        "points": [_point(sweep, point) for point in sweep.points],
        "growth": [_growth(growth) for growth in sweep.growths],
        "knee": sweep.knees,
        "expect": [_expect(expected) for expected in sweep.expected],
        "failures": [asdict(failure) for failure in sweep.failures],
        "retried": sweep.retried,
        "interrupted": sweep.interrupted,
        "folder": sweep.folder,
    }


def _point(sweep: Sweep, point: Setting) -> dict[str, Any]:
    return {
        "values": dict(zip(sweep.variables, point.values, strict=True)),
        "runs": point.trials,
        "steps_per_s": {"median": point.throughput, "low": point.low, "high": point.high},
        "step_s": point.seconds,
        "loop_s": point.loop_s,
        "steps": point.steps,
        "efficiency": point.efficiency,
        "memory_mb": point.memory_mb,
        "work": point.work,
        "phases": [
            {
                "name": name or NO_PHASE_LABEL,
                "step_s": seconds,
                "share": point.share(seconds),
            }
            for name, seconds in sorted(point.own.items(), key=lambda item: -item[1])
        ],
    }


def _growth(growth: PowerLaw) -> dict[str, Any]:
    return {
        "variable": growth.variable,
        "of": "step_s",
        "exponent": interval_document(growth.exponent),
        "phases": [
            {"name": name or NO_PHASE_LABEL, "exponent": interval_document(interval)}
            for name, interval in growth.phases.items()
        ],
    }


def _expect(expected: Expectation) -> dict[str, Any]:
    return {
        "kind": expected.kind,
        "variable": expected.variable,
        "quantity": expected.quantity,
        "rows": [
            {
                "value": row.value,
                "expected": row.expected,
                "actual": row.actual,
                "times_slower": interval_document(row.factor, math.exp),
                "in_words": slower_in_words(row),
            }
            for row in expected.rows
        ],
        "responsible": expected.responsible,
        "part": expected.part,
        "steps_factor": expected.steps_factor,
        "step_time_factor": expected.step_time_factor,
    }
