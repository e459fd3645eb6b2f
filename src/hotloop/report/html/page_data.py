"""The data of the page: the analysis, rounded and limited to what fits on a screen."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from hotloop.analyze.accounting import outside_share, phase_categories
from hotloop.analyze.model import Analysis, Function, Process
from hotloop.analyze.over_time import series, step_cost
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.process_groups import groups
from hotloop.analyze.samples.flame import FUNCTION, Box, flame
from hotloop.diagnose.finding import Finding
from hotloop.phases import NO_PHASE_LABEL
from hotloop.report.console.device_text import limits_in_words
from hotloop.report.console.run_table import line_of, shown_rows, who
from hotloop.report.document import Report, finding_document, history_of, run_document
from hotloop.report.palette import colors
from hotloop.report.words.evidence import evidence_in_words
from hotloop.report.words.imports import import_rows
from hotloop.report.words.paths import place_of
from hotloop.report.words.returns import returns_document
from hotloop.report.words.sampled import place_words, states_words, thread_functions_of

SCHEMA = "hotloop.page/1"

MOST_FUNCTIONS = 80
#: Phases drawn separately on the timeline; more colors cannot be distinguished.
MOST_BANDS = 9
#: Cells of a process's strip.
STRIP_CELLS = 60
#: Groups of processes with a tree of their own; the rest are in the table of processes.
MOST_GROUPS = 6


def page_data(report: Report) -> dict[str, Any]:
    """Everything that the page of one run shows."""
    history, analysis = history_of(report), report.analysis
    trees = _trees(analysis)
    run = history.points()
    used = dict.fromkeys(phase.category for phase in analysis.phases)
    return {
        "schema": SCHEMA,
        "name": analysis.name,
        "verdict": {
            "headline": report.verdict.headline,
            "starvation": report.verdict.starvation,
            "details": report.verdict.details,
        },
        "ending": report.ending,
        "run": _run(report),
        "findings": [_finding(finding) for finding in report.findings],
        "colors": colors(list(used)),
        "categories": _categories(report),
        "trees": trees,
        "course": _course(history, analysis, run),
        "returns": returns_document(analysis),
        "processes": _processes(history, analysis, run),
        "run_table": [
            {"who": who(analysis, row), "where": line_of(row), **_shortened(asdict(row))}
            for row in shown_rows(analysis)
        ],
        "phases": _phases(analysis),
        "functions": _functions(analysis),
        "exact": [each.recorded() for each in analysis.exact_functions[:MOST_FUNCTIONS]],
        "imports": [asdict(row) for row in import_rows(analysis)],
        "facts": _facts(analysis),
        "cost": _shortened(asdict(analysis.overhead)),
        "accounting": _shortened(asdict(report.accounting)),
    }


def short(value: Any) -> Any:
    """A number with a few more digits than are shown; anything else unchanged.

    The page rounds it once more: with only one or two more digits it would say 805 where the text
    says 804 (of 804.497).
    """
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return value


def _shortened(row: dict[str, Any]) -> dict[str, Any]:
    return {key: short(value) for key, value in row.items()}


def _finding(finding: Finding) -> dict[str, Any]:
    """A finding with its evidence in words."""
    return {
        **finding_document(finding),
        "where": [{**asdict(each), "place": place_of(each)} for each in finding.where],
        "is_of_run": finding.is_of_run,
        "evidence": evidence_in_words(finding),
    }


#: Figures and facts of the run on the page, as they are in the report's document.
_RUN_FIGURES = (
    "wall_s", "startup_s", "loop_s", "after_s", "env_steps", "steps_per_s", "return_last",
    "episodes", "steps_per_episode", "gradient_steps", "updates_per_step", "batch_size",
    "sequences_per_batch", "sequence_length", "memory_peak_mb", "processes",
)  # fmt: skip
_RUN_FACTS = ("command", "device", "started", "finished")


def _run(report: Report) -> dict[str, Any]:
    analysis, run = report.analysis, run_document(report)
    return {
        **{name: short(run[name]) for name in _RUN_FIGURES},
        **{name: run[name] for name in _RUN_FACTS},
        "evaluation_last": short(analysis.returns.evaluation_last),
        "critical_path": any(phase.critical_s is not None for phase in analysis.phases),
    }


def _categories(report: Report) -> list[list[Any]]:
    rows = [[name, short(share)] for name, share in report.categories.items()]
    rows.append([NO_PHASE_LABEL, short(outside_share(report.analysis))])
    return rows


# -- the tree --


def _trees(analysis: Analysis) -> list[dict[str, Any]]:
    """For each group of processes its tree, with names and files stored once."""
    found: list[dict[str, Any]] = []
    for label, processes in list(groups(analysis).items())[:MOST_GROUPS]:
        root = flame(analysis, processes)
        if root is None:
            continue
        texts: dict[str, int] = {}
        tree = _tree(root, texts)
        found.append(
            {
                "group": label,
                "processes": len(processes),
                "whole_s": short(analysis.run.loop_s if label == "main" else root.total_s),
                "texts": list(texts),
                "root": tree,
            }
        )
    return found


def _tree(box: Box, texts: dict[str, int]) -> list[Any]:
    """Name, category, path, total, self, hidden, calls; a function also file, line and lines."""

    def text(value: str) -> int:
        return texts.setdefault(value, len(texts))

    row: list[Any] = [
        text(box.name),
        text(box.category),
        text(box.path),
        short(box.total_s),
        short(box.self_s),
        short(box.hidden_s),
        [_tree(inner, texts) for inner in box.inside],
    ]
    if box.kind == FUNCTION:
        lines = [[line, short(seconds)] for line, seconds in box.lines.items()]
        row += [text(box.file), box.line, int(box.of_program), box.skipped]
        row += [float(f"{box.waiting_share:.3f}"), lines]
    else:
        row.append(box.calls)
    return row


# -- the timeline --


def _course(
    history: RunHistory, analysis: Analysis, run: list[series.SeriesPoint]
) -> dict[str, Any]:
    parts = history.parts(analysis)
    known = phase_categories(analysis)
    bands = step_cost.bands(run, known, MOST_BANDS)
    of_parts = step_cost.per_step_bands(parts, list(bands))
    return {
        "bands": [{"name": name, "category": known.get(name, name)} for name in bands],
        "begin_s": short(run[0].begin_s) if run else 0.0,
        "end_s": short(run[-1].end_s) if run else 0.0,
        "loop_begin_s": short(analysis.run.startup_s),
        "loop_end_s": short(analysis.run.wall_s - analysis.run.after_s),
        "warm_up_s": short(step_cost.warm_up(parts)),
        "points": [
            _point(point, [values[i] for values in bands.values()]) for i, point in enumerate(run)
        ],
        "throughput": [
            [short(p.begin_s), short(p.end_s), short(p.steps_per_s)]
            for p in step_cost.throughput(run)
        ],
        "parts": [
            [short(p.begin_s), short(p.end_s), [short(values[i]) for values in of_parts.values()]]
            for i, p in enumerate(parts)
        ],
        "events": [
            [event.name, *map(short, (event.begin_s, event.end_s, event.seconds)), event.calls]
            for event in history.events()
        ],
    }


def _point(point: series.SeriesPoint, bands: list[float]) -> list[Any]:
    """Begin, end, each band's share of the time, which part of the run; then the state."""
    return [
        short(point.begin_s),
        short(point.end_s),
        [short(point.share(seconds)) for seconds in bands],
        point.part,
        *map(
            short,
            (
                point.steps,
                point.steps_per_s,
                point.step_s,
                point.memory_mb,
                point.memory_peak_mb,
                point.cores,
                point.gpu_busy,
                point.gpu_memory_mb,
            ),
        ),
    ]


# -- processes --


def _processes(
    history: RunHistory, analysis: Analysis, run: list[series.SeriesPoint]
) -> dict[str, Any]:
    own: dict[str, dict[str, float]] = {}
    for phase in analysis.phases:
        if phase.thread == "main":
            table = own.setdefault(phase.process, {})
            table[phase.name] = table.get(phase.name, 0.0) + phase.self_s
    known = {phase.name: phase.category for phase in analysis.phases}
    strips = history.busy(run[-1].end_s if run else 0.0, STRIP_CELLS)
    rows = [
        {
            "name": analysis.name_of(process.name),
            "pid": process.pid,
            "wall_s": short(process.wall_s),
            "busy": short(process.busy_share),
            "memory_peak_mb": short(process.memory_peak_mb),
            "ended": process.ended,
            "phases": _largest(own.get(process.name, {}), process),
            "strip": _strip(shares),
            "limits": limits_in_words(analysis, process.name),
        }
        for process, shares in zip(analysis.processes, strips, strict=True)
    ]
    rows.sort(key=lambda row: (row["name"] != "main", _natural(row["name"])))
    own_phases = {name for row in rows for name, _ in row["phases"]}
    legend = dict.fromkeys(known[name] for name in known if name in own_phases)
    return {"rows": rows, "categories": known, "legend": list(legend)}


def _natural(name: str) -> list[tuple[int, str]]:
    """Worker 2 before worker 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _largest(own: dict[str, float], process: Process) -> list[list[Any]]:
    """Phases with their shares of a process's time, the most first."""
    ordered = sorted(own.items(), key=lambda item: -item[1])
    shares = [(name, process.share(seconds)) for name, seconds in ordered]
    return [[name, short(share)] for name, share in shares if share >= 0.001][:MOST_BANDS]


def _strip(shares: list[float | None]) -> list[float | None]:
    return [None if share is None else float(f"{min(share, 1.0):.3f}") for share in shares]


# -- tables --

_COLUMNS = (
    "path", "name", "category", "process", "thread", "depth", "calls", "total_s", "self_s", "share",
    "mean_s", "p50_s", "p99_s", "max_s", "cpu_peak_mb", "gpu_peak_mb", "device_s", "how",
    "python_share", "waiting_share",
)  # fmt: skip


def _phases(analysis: Analysis) -> dict[str, Any]:
    """Every phase of the main process; the other processes' are summed up by group."""
    rows = [
        [
            *(short(getattr(phase, name)) for name in _COLUMNS),
            short(analysis.run.per_step(phase.total_s)),
        ]
        for phase in analysis.phases
        if phase.process == "main"
    ]
    return {"columns": [*_COLUMNS, "step_s"], "rows": rows}


def _functions(analysis: Analysis) -> list[dict[str, Any]]:
    return [
        {
            **{key: short(value) for key, value in asdict(function).items() if key != "callers"},
            "group": group,
            "place": place_words(function),
            "states": states_words(function),
        }
        for group, functions in _by_group(analysis).items()
        for function in functions[:MOST_FUNCTIONS]
    ]


def _by_group(analysis: Analysis) -> dict[str, list[Function]]:
    """Group of processes, or other threads of the main one -> the functions sampled in it."""
    group_of = {name: group for group, names in groups(analysis).items() for name in names}
    found: dict[str, list[Function]] = {}
    for function in analysis.functions:
        found.setdefault(group_of.get(function.process, "main"), []).append(function)
    shown = dict(list(found.items())[:MOST_GROUPS])
    threads = thread_functions_of(analysis)
    return {**shown, "other threads": threads} if threads else shown


def _facts(analysis: Analysis) -> dict[str, Any]:
    header = analysis.run.header
    names = ("python", "platform", "machine", "cores", "host", "version", "native", "why_twin")
    libraries = analysis.notes.libraries
    return {
        **{name: getattr(header, name) for name in names},
        "functions": header.functions,
        "samples_per_second": header.samples_per_second,
        "libraries": {title: use.recorded() for title, use in libraries.items()},
        "counters": {name: short(value) for name, value in analysis.run.counters.items()},
        "failures": analysis.notes.failures,
        "stop_after": analysis.notes.stop_after,
        "damaged": analysis.damaged,
    }
