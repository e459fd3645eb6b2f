"""A comparison for people (text) and for programs (JSON, `hotloop.compare/1`)."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

from hotloop import units
from hotloop.analyze.comparing.compare import (
    Comparison,
    PhaseJudgement,
    WorkChange,
    describe_work,
    one_of,
)
from hotloop.analyze.comparing.experiments import PairedResult
from hotloop.analyze.comparing.judgement import (
    FASTER,
    NOT_COMPARABLE,
    SAME,
    SLOWER,
    UNKNOWN,
    Judgement,
)
from hotloop.phases import NO_PHASE, NO_PHASE_LABEL, PARENTS
from hotloop.report.console.terminal import (
    Style,
    beside,
    clean,
    columns,
    fit,
    joined,
    paragraphs,
    wrapped,
)

SCHEMA = "hotloop.compare/1"

_COLORS = {FASTER: "green", SLOWER: "red", UNKNOWN: "yellow", NOT_COMPARABLE: "yellow"}

#: An interval whose ends differ by more than this factor is not shown.
ANYTHING = 10.0

#: Columns of a side's name above its times.
_NAME = 14
#: Columns that two times and a ratio with its interval take at most, with the space between them.
_FIGURES = 50

NOT_INTERLEAVED = (
    "These two runs were not interleaved, so the difference includes whatever else changed on "
    "the machine between them. Run `hotloop compare` on the two commands to separate the two."
)


# -- in words --


def in_words(judgement: Judgement) -> str:
    """A verdict with its precision: "no difference (within ±1.2%)"."""
    if judgement.verdict == SAME:
        return f"no difference (within ±{_percent(judgement.within)})"
    if judgement.verdict == UNKNOWN:
        parts = []
        if judgement.width is not None and judgement.width <= ANYTHING:
            parts.append(f"±{_percent(judgement.width)}")
        if judgement.more_pairs:
            parts.append(f"about {units.plural(judgement.more_pairs, 'more pair')}")
        return f"cannot tell ({'; '.join(parts)})" if parts else "cannot tell"
    if judgement.verdict == NOT_COMPARABLE:
        return f"not comparable ({clean(judgement.why)})"
    return judgement.verdict


def _percent(share: float | None) -> str:
    percent = (share or 0.0) * 100
    return f"{percent:.0f}%" if percent >= 9.95 else f"{percent:.1f}%"


def times(value: float | None) -> str:
    """A ratio with three significant digits."""
    if value is None:
        return "?"
    if value >= 99.5:
        return f"{value:.0f}"
    return f"{value:.3g}" if value >= 9.995 or value < 0.095 else f"{value:.2f}"


def ratio(judgement: Judgement, unit: str = "") -> str:
    """A ratio and its interval: "1.42 (1.37 to 1.47)"."""
    estimate = judgement.estimate
    if estimate is None:
        return ""
    text = _digits(estimate, estimate) + unit
    if judgement.low is None or judgement.high is None:
        return text
    if judgement.high > ANYTHING * judgement.low:
        return f"{text} (anything)"
    low, high = (_digits(estimate, bound) for bound in (judgement.low, judgement.high))
    return f"{text} ({low} to {high})"


def _digits(estimate: float, value: float) -> str:
    """Near 1 a third digit is needed to see a percent."""
    return f"{value:.3f}" if 0.8 < estimate < 1.25 else times(value)


def headline(comparison: Comparison) -> str:
    """The verdict on the whole, in one sentence."""
    first, second = (clean(name) for name in comparison.names)
    whole = comparison.whole
    if whole.verdict == FASTER:
        return f"{second} is {ratio(whole)} times faster than {first}."
    if whole.verdict == SLOWER:
        factor = whole.inverse
        return f"{second} is slower than {first}: it takes {ratio(factor)} times as long."
    # In their order: a reason may speak of "the second".
    text = f"{first} and {second}: {in_words(whole)}."
    if whole.verdict == NOT_COMPARABLE and whole.estimate is not None:
        step = one_of(comparison.unit)
        text += f" Time per {step} of the first, divided by the second's: {ratio(whole)}."
    return text


# -- text --


def comparison_text(
    comparison: Comparison, style: Style, result: PairedResult | None = None
) -> str:
    """The whole comparison, as text."""
    blocks = [
        _title(comparison, style, result),
        wrapped(headline(comparison), style, "bold", _COLORS.get(comparison.whole.verdict, "cyan")),
        wrapped(because(comparison), style),
        _table(comparison, style),
        paragraphs(work_notes(comparison), style, "yellow"),
        paragraphs(small_print(comparison, result), style, "dim"),
    ]
    return joined(blocks)


def _title(comparison: Comparison, style: Style, result: PairedResult | None) -> str:
    pairs = units.plural(comparison.pairs, "interleaved pair")
    what = pairs if comparison.interleaved else "two captures, not interleaved"
    lines = [style.paint("hotloop compare", "bold", "cyan") + "  " + what]
    if result is not None:
        for name, command in zip(comparison.names, result.commands, strict=True):
            lines.append(
                f"  {clean(name)}: {clean(command)}" if name != command else f"  {clean(name)}"
            )
    return "\n".join(fit(line, style.width).rstrip() if not style.color else line for line in lines)


def because(comparison: Comparison) -> str:
    """The phase with most of the change; empty if there is none."""
    if comparison.responsible is None:
        return ""
    name = clean(label(comparison.responsible))
    phase = next(p for p in comparison.phases if p.name == comparison.responsible)
    step = one_of(comparison.unit)
    change = f"{units.seconds(phase.own.first or 0)} → {units.seconds(phase.own.second or 0)}"
    return f"Most of the change is in {name}: {change} per {step}."


def label(name: str) -> str:
    """The label of a phase's own time in a table."""
    if name == NO_PHASE:
        return NO_PHASE_LABEL
    return f"{name} itself" if name in PARENTS else name


def _table(comparison: Comparison, style: Style) -> str:
    if not comparison.pairs:
        return ""
    rows = rows_of(comparison)
    # The width that the figures of a row leave for its name.
    longest = max(style.width - _FIGURES, 20)
    table = [
        [fit(clean(text), longest).rstrip(), _seconds(row.first), _seconds(row.second), ratio(row)]
        for text, row in rows
    ]
    first, second = (fit(clean(name), _NAME).rstrip() for name in comparison.names)
    titles = [f"per {one_of(comparison.unit)}", first, second, "times faster"]
    head, *cells = columns([titles, *table], "<>><")
    lines = [style.paint(head + "  verdict", "dim")]
    for line, (_, judgement) in zip(cells, rows, strict=True):
        color = _COLORS.get(judgement.verdict)
        words = in_words(judgement)
        lines.append(beside(line + "  ", words, style, *([color] if color else [])))
    return "\n".join(line.rstrip() for line in lines)


def rows_of(comparison: Comparison) -> list[tuple[str, Judgement]]:
    """The rows of a table, the whole first; phases too short to judge are left out."""
    rows = [("whole", comparison.whole)]
    if comparison.whole.verdict == NOT_COMPARABLE:
        # The full reason is above the table.
        rows = [("whole", replace(comparison.whole, why="see above"))]
    for phase in comparison.phases:
        small = phase.own.why.startswith("below")
        if phase.total is not None:
            rows.append((phase.name, phase.total))
        if not small:
            rows.append((label(phase.name), phase.own))
        if phase.per_gradient_step is not None and not small:
            rows.append((f"{phase.name}, per gradient step", phase.per_gradient_step))
    return rows


def _seconds(value: float | None) -> str:
    return units.seconds(value) if value is not None else ""


def work_notes(comparison: Comparison) -> list[str]:
    """How the amount of work differs between the two sides."""
    lines = []
    for change in comparison.work:
        sides = f"{change.first:.4g} and {change.second:.4g}"
        lines.append(f"Work: {describe_work(change, comparison.unit)} ({sides}).")
    if comparison.whole.verdict == NOT_COMPARABLE and any(c.matters for c in comparison.work):
        lines.append(
            "A change in work is not a change in speed. To judge the time per step regardless, "
            "add --any-work."
        )
    return lines


def small_print(comparison: Comparison, result: PairedResult | None) -> list[str]:
    """Caveats of the figures."""
    lines = list(comparison.notes)
    if not comparison.interleaved:
        lines.insert(0, NOT_INTERLEAVED)
    if comparison.waited >= 0.01:
        lines.append(
            f"Other programs used the CPU {units.percent(comparison.waited)} of the time; that is "
            "excluded from these figures."
        )
    if comparison.whole.level:
        lines.append(
            f"{'Phases are judged jointly, by their own time. ' if comparison.phases else ''}"
            f"Method: {comparison.method}; the verdicts of a comparison, taken together, are "
            "wrong at most 1 time in 20."
        )
    if result is not None:
        lines += [f"{name} failed once and was repeated." for name in result.retried]
        if result.interrupted:
            lines.append("Interrupted: the verdict covers the finished pairs.")
    return lines


# -- JSON --


def comparison_document(
    comparison: Comparison, result: PairedResult | None = None
) -> dict[str, Any]:
    """The whole comparison as plain data; fields may be added, never renamed."""
    document: dict[str, Any] = {
        "schema": SCHEMA,
        **judgement_document(comparison.whole),
        "pairs": comparison.pairs,
        "names": list(comparison.names),
        "unit": comparison.unit,
        "margin": comparison.margin,
        "method": comparison.method,
        "interleaved": comparison.interleaved,
        "responsible": _named(comparison.responsible),
        "headline": headline(comparison),
        "phases": [_phase(phase) for phase in comparison.phases],
        "work": [_work_document(change) for change in comparison.work],
        "waited": comparison.waited,
        "notes": [*([] if comparison.interleaved else [NOT_INTERLEAVED]), *comparison.notes],
    }
    if result is not None:
        document.update(_around(result))
    return document


def judgement_document(judgement: Judgement) -> dict[str, Any]:
    """One verdict as plain data."""
    return {
        "verdict": judgement.verdict,
        "why": judgement.why,
        "in_words": in_words(judgement),
        "ratio": {
            "estimate": judgement.estimate,
            "low": judgement.low,
            "high": judgement.high,
        },
        "first_s": judgement.first,
        "second_s": judgement.second,
        "within": judgement.within,
        "width": judgement.width,
        "more_pairs": judgement.more_pairs,
        "level": judgement.level,
    }


def _phase(phase: PhaseJudgement) -> dict[str, Any]:
    document = {"name": _named(phase.name), **judgement_document(phase.own)}
    if phase.total is not None:
        document["total"] = judgement_document(phase.total)
    if phase.per_gradient_step is not None:
        document["per_gradient_step"] = judgement_document(phase.per_gradient_step)
    return document


def _named(name: str | None) -> str | None:
    return NO_PHASE_LABEL if name == NO_PHASE else name


def _work_document(change: WorkChange) -> dict[str, Any]:
    return {
        "counter": change.counter,
        "first": change.first,
        "second": change.second,
        "ratio": change.ratio if change.first else None,
        "matters": change.matters,
    }


def _around(result: PairedResult) -> dict[str, Any]:
    return {
        "commands": list(result.commands),
        "samples": {"first_s": result.samples[0], "second_s": result.samples[1]},
        "folder": result.folder,
        "interrupted": result.interrupted,
        "retried": result.retried,
        "failure": asdict(result.failure) if result.failure else None,
    }
