"""What the page shows, as plain data: the analysis, rounded and cut to what a screen can hold."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import Any

from hotloop.analyze import course
from hotloop.analyze.flame import FUNCTION, NO_PHASE, Box, flame, groups
from hotloop.analyze.functions import short_file
from hotloop.analyze.model import Analysis, Phase
from hotloop.capture.reader import Capture, Shard
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.verdict import verdict
from hotloop.report.document import categories
from hotloop.report.palette import colours

SCHEMA = "hotloop.page/1"

MOST_FUNCTIONS = 80
#: Phases drawn apart on the time line; more colours cannot be told apart.
MOST_BANDS = 9
#: Cells of a process's strip.
STRIP_CELLS = 60
#: Groups of processes with a tree of their own; the rest are in the table of processes.
MOST_GROUPS = 6


def page_data(capture: Capture, analysis: Analysis, findings: list[Finding]) -> dict[str, Any]:
    """Everything that the page of one run shows."""
    trees = _trees(analysis)
    run = course.points(capture.main, course.cost_of(analysis))
    used = dict.fromkeys(phase.category for phase in analysis.phases)
    return {
        "schema": SCHEMA,
        "name": analysis.name,
        "verdict": verdict(analysis, findings),
        "run": _run(analysis),
        "findings": [asdict(finding) for finding in findings],
        "colours": colours(list(used)),
        "categories": _categories(analysis),
        "trees": trees,
        "course": _course(capture, analysis, run),
        "processes": _processes(capture, analysis, run),
        "phases": _phases(analysis),
        "functions": _functions(analysis),
        "exact": analysis.exact_functions[:MOST_FUNCTIONS],
        "facts": _facts(analysis),
        "cost": {key: short(value) for key, value in asdict(analysis.overhead).items()},
        "coverage": short(analysis.coverage),
        "unexplained": short(analysis.unexplained),
    }


def short(value: Any) -> Any:
    """A number with a few more digits than are shown; anything else as it is.

    The page rounds it once more: with only one or two more digits it would say 805 where the text
    says 804 (of 804.497).
    """
    if isinstance(value, float):
        return float(f"{value:.7g}")
    return value


def _run(analysis: Analysis) -> dict[str, Any]:
    run = analysis.run
    figures = {
        "wall_s": run.wall_s,
        "startup_s": run.startup_s,
        "loop_s": run.loop_s,
        "after_s": run.after_s,
        "env_steps": run.env_steps,
        "steps_per_s": run.steps_per_s,
        "episodes": run.counters.get("episodes", 0),
        "steps_per_episode": run.steps_per_episode,
        "gradient_steps": run.counters.get("gradient_steps", 0),
        "updates_per_step": run.updates_per_step,
        "batch_size": run.batch_size,
        "memory_peak_mb": run.memory_peak_mb,
        "cpu_share": run.cpu_share,
        "processes": run.processes,
    }
    return {
        **{name: short(value) for name, value in figures.items()},
        "command": run.command,
        "device": run.device,
        "started": run.header.get("started"),
        "finished": run.end is not None,
        "exit": run.end or {},
    }


def _categories(analysis: Analysis) -> list[list[Any]]:
    rows = [[name, short(share)] for name, share in categories(analysis).items()]
    loop_s = analysis.run.loop_s
    rows.append([NO_PHASE, short(analysis.outside_s / loop_s if loop_s > 0 else 0.0)])
    return rows


# -- the tree --


def _trees(analysis: Analysis) -> list[dict[str, Any]]:
    """For each group of processes its tree, with names and files said once."""
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
        waiting = box.waiting_s / box.total_s if box.total_s > 0 else 0.0
        lines = [[line, short(seconds)] for line, seconds in box.lines.items()]
        row += [text(box.file), box.line, int(box.of_program), box.skipped]
        row += [float(f"{waiting:.3f}"), lines]
    else:
        row.append(box.calls)
    return row


# -- the course --


def _course(capture: Capture, analysis: Analysis, run: list[course.Point]) -> dict[str, Any]:
    learns = [p.calls for p in analysis.phases if p.process == "main" and p.name == "learn"]
    parts = course.per_step(run, sum(learns))
    known = {
        phase.name: phase.category
        for phase in [*analysis.startup, *analysis.after, *analysis.phases]
        if phase.process == "main"
    }
    bands = course.bands(run, known, MOST_BANDS)
    of_parts = course.per_step_bands(parts, list(bands))
    return {
        "bands": [{"name": name, "category": known.get(name, name)} for name in bands],
        "begin_s": short(run[0].begin_s) if run else 0.0,
        "end_s": short(run[-1].end_s) if run else 0.0,
        "loop_begin_s": short(analysis.run.startup_s),
        "loop_end_s": short(analysis.run.wall_s - analysis.run.after_s),
        "warm_up_s": short(course.warm_up(parts)),
        "points": [
            _point(point, [values[i] for values in bands.values()]) for i, point in enumerate(run)
        ],
        "parts": [
            [short(p.begin_s), short(p.end_s), [short(values[i]) for values in of_parts.values()]]
            for i, p in enumerate(parts)
        ],
        "events": [
            [event.name, *map(short, (event.begin_s, event.end_s, event.seconds)), event.calls]
            for event in course.events(capture.main.windows)
        ],
    }


def _point(point: course.Point, bands: list[float]) -> list[Any]:
    """Begin, end, each band's share of the time, which part of the run; then the state."""
    shares = [seconds / point.seconds if point.seconds > 0 else 0.0 for seconds in bands]
    return [
        short(point.begin_s),
        short(point.end_s),
        [short(share) for share in shares],
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


def _processes(capture: Capture, analysis: Analysis, run: list[course.Point]) -> dict[str, Any]:
    own: dict[str, dict[str, float]] = {}
    for phase in analysis.phases:
        if phase.thread == "main":
            table = own.setdefault(phase.process, {})
            table[phase.name] = table.get(phase.name, 0.0) + phase.self_s
    known = {phase.name: phase.category for phase in analysis.phases}
    end_s = run[-1].end_s if run else 0.0
    rows = [
        {
            "name": process.name,
            "pid": process.pid,
            "wall_s": short(process.wall_s),
            "busy": short(process.busy_s / process.wall_s if process.wall_s > 0 else 0.0),
            "memory_peak_mb": short(process.memory_peak_mb),
            "ended": process.ended,
            "phases": _largest(own.get(process.name, {}), process.wall_s),
            "strip": _strip(shard, capture.main, end_s),
        }
        for process, shard in zip(analysis.processes, capture.shards, strict=True)
    ]
    rows.sort(key=lambda row: (row["name"] != "main", _natural(row["name"])))
    return {"rows": rows, "categories": known}


def _natural(name: str) -> list[tuple[int, str]]:
    """Worker 2 before worker 10."""
    return [(int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", name)]


def _largest(own: dict[str, float], wall_s: float) -> list[list[Any]]:
    """Phases with their shares of a process's time, the most first."""
    ordered = sorted(own.items(), key=lambda item: -item[1])
    shares = [(name, seconds / wall_s if wall_s > 0 else 0.0) for name, seconds in ordered]
    return [[name, short(share)] for name, share in shares if share >= 0.001][:MOST_BANDS]


def _strip(shard: Shard, main: Shard, end_s: float) -> list[Any]:
    offset = course.offset_s(shard, main)
    shares = course.busy_shares(shard, -offset, end_s - offset, STRIP_CELLS)
    return [None if share is None else float(f"{min(share, 1.0):.3f}") for share in shares]


# -- tables --

_COLUMNS = (
    "path", "name", "category", "process", "thread", "depth", "calls", "total_s", "self_s", "share",
    "mean_s", "min_s", "p50_s", "p95_s", "p99_s", "max_s", "cpu_peak_mb", "cpu_added_mb",
    "gpu_peak_mb", "device_s", "score", "marks", "how", "python_share", "native_share",
    "waiting_share",
)  # fmt: skip


def _phases(analysis: Analysis) -> dict[str, Any]:
    """Every phase of the main process; the other processes' are summed up by group."""
    steps = analysis.run.env_steps
    rows = [
        [*(short(getattr(phase, name)) for name in _COLUMNS), _per_step(phase, steps)]
        for phase in analysis.phases
        if phase.process == "main"
    ]
    return {"columns": [*_COLUMNS, "step_s"], "rows": rows}


def _per_step(phase: Phase, steps: int) -> Any:
    return short(phase.total_s / steps) if steps else None


def _functions(analysis: Analysis) -> list[dict[str, Any]]:
    return [
        {
            **{key: short(value) for key, value in asdict(function).items()},
            "place": f"{short_file(function.file)}:{function.hot_line}",
        }
        for function in analysis.functions[:MOST_FUNCTIONS]
    ]


def _facts(analysis: Analysis) -> dict[str, Any]:
    header = analysis.run.header
    names = ("python", "platform", "machine", "cores", "host", "version", "native", "why_twin")
    libraries = analysis.notes.get("libraries")
    return {
        **{name: header.get(name) for name in names},
        "functions": header.get("functions"),
        "samples_per_second": header.get("samples_per_second"),
        "libraries": libraries if isinstance(libraries, dict) else {},
        "counters": {name: short(value) for name, value in analysis.run.counters.items()},
        "failures": analysis.notes.get("failures") or {},
        "stop_after": analysis.notes.get("stop_after"),
        "damaged": analysis.damaged,
    }
