"""The page of a sweep: how speed changes with the setting, its knee, and what each step costs."""

from __future__ import annotations

import math
import shlex
from typing import Any

from hotloop.analyze.comparing.compare import one_of
from hotloop.analyze.comparing.experiments import Sweep, folder_name
from hotloop.analyze.comparing.scaling import PowerLaw, Setting, in_proportion, is_numeric
from hotloop.analyze.comparing.statistics import Interval
from hotloop.phases import NO_PHASE, NO_PHASE_LABEL
from hotloop.report.console.terminal import Style
from hotloop.report.html.page import EXPERIMENT_SCRIPTS, EXPERIMENT_STYLES, shell
from hotloop.report.palette import colors
from hotloop.report.results.comparison_page import part_category
from hotloop.report.results.sweep import (
    blame_sentences,
    design_in_words,
    growth_sentences,
    headline,
    largest_phases,
    marks_of,
    meaning,
    power,
    rate_in_words,
    setting_name,
    small_print,
    sweep_document,
    sweep_text,
)

SCHEMA = "hotloop.sweep.page/1"


def render_sweep(sweep: Sweep) -> str:
    """The whole page."""
    text = sweep_text(sweep, Style(width=100))
    title = f"{', '.join(sweep.variables)} · hotloop sweep"
    scripts = (*EXPERIMENT_SCRIPTS, "scaling.js", "sweep.js")
    return shell(title, page_data(sweep), scripts, text, styles=EXPERIMENT_STYLES)


def page_data(sweep: Sweep) -> dict[str, Any]:
    """What the page shows, as plain data."""
    phases = [*largest_phases(sweep.points), NO_PHASE]
    document = sweep_document(sweep)
    for expected, shown in zip(sweep.expected, document["expect"], strict=True):
        shown["meaning"] = meaning(expected)
        shown["sentences"] = blame_sentences(expected, sweep)
    return {
        **document,
        "schema": SCHEMA,
        "to_open": _command_to_open(sweep),
        "headline": headline(sweep),
        "design": design_in_words(sweep),
        "step": one_of(sweep.unit),
        "sentences": growth_sentences(sweep),
        "small_print": small_print(sweep),
        "phases": [[name or NO_PHASE_LABEL, part_category(name)] for name in phases],
        "axis": _axis(sweep),
        "settings": [_setting(sweep, point, phases) for point in sweep.points],
        "growths": [_growth(growth) for growth in sweep.growths],
        "colors": colors([part_category(name) for name in phases]),
    }


def _command_to_open(sweep: Sweep) -> str:
    """The command that opens one of the runs."""
    folder = f"{sweep.folder}/round-1/{folder_name(setting_name(sweep, sweep.points[0]))}"
    return f"hotloop report {shlex.quote(folder)}"


def _axis(sweep: Sweep) -> dict[str, Any]:
    """The variable along which the chart runs: the first, and whether it is a number.

    `in_proportion` is the figure of each setting in proportion to the smallest one.
    """
    name, values = next(iter(sweep.variables.items()))
    numeric = is_numeric(values)
    even = numeric and len(sweep.variables) == 1
    return {
        "name": name,
        "numeric": numeric,
        "knee": sweep.knees.get(name),
        "quantity": "steps_per_s" if sweep.stop_after else "loop_s",
        "in_proportion": {
            "steps_per_s": in_proportion(sweep.points, lambda p: p.throughput) if even else None,
            "loop_s": in_proportion(sweep.points, lambda p: p.loop_s)
            if even and not sweep.stop_after
            else None,
        },
    }


def _setting(sweep: Sweep, point: Setting, phases: list[str]) -> dict[str, Any]:
    return {
        "name": setting_name(sweep, point),
        "values": list(point.values),
        "runs": point.trials,
        "steps_per_s": point.throughput,
        "low": point.low,
        "high": point.high,
        "rate": rate_in_words(point),
        "loop_s": point.loop_s,
        "step_s": point.seconds,
        "memory_mb": point.memory_mb,
        "efficiency": point.efficiency,
        "own": [point.own.get(name, 0.0) for name in phases],
        "marks": marks_of(sweep, point),
    }


def _growth(growth: PowerLaw) -> dict[str, Any]:
    """How each phase grows, as rows of a chart of intervals."""
    rows = [("whole step", growth.exponent)]
    rows += [(name or NO_PHASE_LABEL, interval) for name, interval in growth.phases.items()]
    return {
        "variable": growth.variable,
        "rows": [_exponent(name, i) for name, i in rows if math.isfinite(i.estimate)],
    }


def _exponent(name: str, interval: Interval) -> dict[str, Any]:
    known = math.isfinite(interval.half)
    return {
        "label": name,
        "text": power(interval),
        "estimate": interval.estimate,
        "low": interval.low if known else None,
        "high": interval.high if known else None,
    }
