"""The report for programs: one JSON document, `hotloop.report/1`.

Other tools build on these names; fields may be added, never renamed.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from hotloop.analyze.model import Analysis
from hotloop.analyze.workers import split_steps
from hotloop.capture.training import LAUNCHER, TRAINS_IN
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.verdict import verdict

SCHEMA = "hotloop.report/1"

#: Functions in the document; the page and the exports have all of them.
MOST_FUNCTIONS = 100


def report_document(analysis: Analysis, findings: list[Finding]) -> dict[str, Any]:
    """The whole report as plain data."""
    return {
        "schema": SCHEMA,
        "run": _run(analysis),
        "overhead": asdict(analysis.overhead),
        "coverage": analysis.coverage,
        "unexplained": analysis.unexplained,
        "outside_s": analysis.outside_s,
        "phases": [_named(asdict(phase), "process", analysis) for phase in analysis.phases],
        "startup": [_named(asdict(phase), "process", analysis) for phase in analysis.startup],
        "after": [_named(asdict(phase), "process", analysis) for phase in analysis.after],
        "categories": categories(analysis),
        "functions": [
            _named(asdict(f), "process", analysis) for f in analysis.functions[:MOST_FUNCTIONS]
        ],
        "exact_functions": analysis.exact_functions,
        "processes": [_named(asdict(p), "name", analysis) for p in analysis.processes],
        "workers": asdict(split) if (split := split_steps(analysis.phases)) else None,
        "device": asdict(analysis.device) if analysis.device else None,
        "bounds": bounds_document(analysis),
        "transfers": transfer_lines(analysis),
        "findings": [asdict(finding) for finding in findings],
        "libraries": analysis.notes.get("libraries", {}),
        "shapes": analysis.notes.get("shapes", {}),
        "named_phases": analysis.notes.get("named_phases", {}),
        "notes": analysis.notes.get("remarks", []),
        "damaged_lines": analysis.damaged,
        "verdict": verdict(analysis, findings),
    }


def categories(analysis: Analysis) -> dict[str, float]:
    """Category -> share of the loop that is self time of its phases."""
    totals: dict[str, float] = {}
    for phase in analysis.phases:
        if phase.process == "main" and phase.thread == "main":
            totals[phase.category] = totals.get(phase.category, 0.0) + phase.self_s
    loop_s = analysis.run.loop_s
    ordered = sorted(totals.items(), key=lambda item: -item[1])
    return {name: total / loop_s if loop_s > 0 else 0.0 for name, total in ordered}


def bounds_document(analysis: Analysis) -> dict[str, Any] | None:
    """Shares of the host's time by what it went into: the whole loop's, and each phase's own."""
    if analysis.bound is None:
        return None
    return {
        "whole": asdict(analysis.bound),
        "phases": {path: asdict(bound) for path, bound in analysis.bounds.items()},
    }


def transfer_lines(analysis: Analysis) -> list[dict[str, Any]]:
    """Lines of the program that move tensors or wait for a device, the most first."""
    names = ("file", "line", "function", "what", "transfers", "bytes", "syncs")
    rows = analysis.notes.get("transfer_lines")
    return [
        dict(zip(names, row, strict=True))
        for row in (rows if isinstance(rows, list) else [])
        if isinstance(row, list) and len(row) == len(names)
    ]


def _run(analysis: Analysis) -> dict[str, Any]:
    run = analysis.run
    header = run.header
    return {
        "name": analysis.name,
        "command": run.command,
        "wall_s": run.wall_s,
        "startup_s": run.startup_s,
        "loop_s": run.loop_s,
        "after_s": run.after_s,
        "env_steps": run.env_steps,
        "episodes": int(run.counters.get("episodes", 0)),
        "gradient_steps": int(run.counters.get("gradient_steps", 0)),
        "samples": int(run.counters.get("samples", 0)),
        "steps_per_s": run.steps_per_s,
        "steps_per_episode": run.steps_per_episode,
        "updates_per_step": run.updates_per_step,
        "batch_size": run.batch_size,
        "counters": run.counters,
        "device": run.device,
        "processes": run.processes,
        "memory_peak_mb": run.memory_peak_mb,
        "cpu_share": run.cpu_share,
        "finished": run.end is not None,
        "exit": run.end or {},
        "python": header.get("python"),
        "platform": header.get("platform"),
        "cores": header.get("cores"),
        "hotloop": header.get("version"),
        "native": header.get("native"),
        "started": header.get("started"),
    }


def _named(row: dict[str, Any], key: str, analysis: Analysis) -> dict[str, Any]:
    """A row with its process by the name that it has itself, where another than main trains."""
    trainer = analysis.notes.get(TRAINS_IN)
    if isinstance(trainer, str):
        row[key] = {"main": trainer, LAUNCHER: "main"}.get(row[key], row[key])
    return row
