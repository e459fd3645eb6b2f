"""The report: one document that every renderer formats, and the same as JSON.

`make_report` computes the content of a report once: findings, verdict, shares. Renderers only
decide how it looks. Other tools depend on the names in the JSON: fields may be added, never
renamed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hotloop import units
from hotloop.analyze.accounting import Accounting, account, categories, unidentified
from hotloop.analyze.analysis import analyze
from hotloop.analyze.kind import learns_from_data
from hotloop.analyze.language_models import tokens
from hotloop.analyze.model import Analysis, Function
from hotloop.analyze.optimizers import optimizers
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.training import LAUNCHER, read_capture
from hotloop.analyze.processes.workers import split_steps
from hotloop.analyze.run import Run
from hotloop.analyze.samples.imports import import_lines
from hotloop.diagnose import diagnose
from hotloop.diagnose.finding import Finding
from hotloop.diagnose.verdict import Verdict, judge
from hotloop.errors import HotloopError
from hotloop.report.words.returns import returns_document

SCHEMA = "hotloop.report/2"

Refine = Callable[[list[Finding], Analysis], list[Finding]]

#: Functions in the document; the page and the exports have all of them.
MOST_FUNCTIONS = 100
#: The same for each process other than the main one.
MOST_OF_OTHERS = 20


@dataclass(frozen=True)
class Report:
    """Everything that a renderer may show of one run."""

    analysis: Analysis
    findings: list[Finding]
    verdict: Verdict
    accounting: Accounting
    #: Category -> share of the loop.
    categories: dict[str, float]
    #: How the run ended, if not normally.
    ending: str = ""
    #: None for figures without a capture.
    history: RunHistory | None = None


def remarks(analysis: Analysis) -> list[str]:
    """Remarks on how the run was measured."""
    limits = analysis.notes.sampling_limits
    found = [*analysis.notes.remarks, *([limits] if limits else [])]
    if analysis.notes.gpu_failure:
        found.append(f"The GPU could not be watched: {analysis.notes.gpu_failure}.")
    found += [
        f"The rule `{name}` failed ({error}): a bug in hotloop. Please report it."
        for name, error in analysis.failed_rules.items()
    ]
    if analysis.overhead.measured < 1:
        found.append(
            f"Calls were measured in {units.percent(analysis.overhead.measured)} of the loop, "
            f"in stretches of whole iterations, and scaled{_share_error(analysis)}. "
            "Steps, episodes and rare phases are exact."
        )
    return found


def _share_error(analysis: Analysis) -> str:
    error = analysis.largest_share_error
    return f" (standard error of a share: at most ±{units.percent(error)})" if error else ""


def make_report(
    analysis: Analysis, findings: list[Finding], history: RunHistory | None = None
) -> Report:
    """The report of an analysis, computed once."""
    return Report(
        analysis,
        findings,
        judge(analysis, findings),
        account(analysis),
        categories(analysis),
        " ".join(filter(None, [ending(analysis.run), failed_workers(analysis)])),
        history,
    )


def report_of(folder: Path, refine: Refine | None = None) -> Report:
    """The report of the capture in a folder.

    `refine` adds to findings what needs more than a capture.
    """
    capture = read_capture(folder)
    analysis = analyze(capture)
    findings = diagnose(analysis)
    refined = refine(findings, analysis) if refine is not None else findings
    return make_report(analysis, refined, RunHistory(capture))


_FAILED = {"exit": "failed", "os._exit": "failed in os._exit"}


def ending(run: Run) -> str:
    """How a run ended; empty if it ended normally."""
    if run.end is None:
        if run.header.cost is None:
            return ""  # figures of a profiler without a recorded program
        return "The program was killed or is still running: figures are up to its last window."
    reason, code = run.end.reason, run.end.code
    if reason == "KeyboardInterrupt":
        return "The run was interrupted with Ctrl-C."
    if reason == "SIGTERM":
        return "The run was terminated with SIGTERM."
    if not code:
        return ""
    return f"The program {_FAILED.get(str(reason), f'crashed with {reason}')} (exit code {code})."


#: Failed processes that are named; there may be hundreds.
_MOST_NAMED = 4


def failed_workers(analysis: Analysis) -> str:
    """Processes that failed by themselves: anything that waits for one may wait forever."""
    # The end of the main process is reported separately, whichever process trains.
    main = LAUNCHER if analysis.notes.trains_in else "main"
    failed = [p for p in analysis.processes if p.exit_code and p.name != main]
    if not failed:
        return ""
    names = ", ".join(f"`{analysis.name_of(process.name)}`" for process in failed[:_MOST_NAMED])
    more = f" and {len(failed) - _MOST_NAMED} more" if len(failed) > _MOST_NAMED else ""
    codes = sorted({process.exit_code for process in failed if process.exit_code})
    code = f" (exit code {codes[0]})" if len(codes) == 1 else ""
    return f"{names}{more} failed{code}: see the program's error output."


def history_of(report: Report) -> RunHistory:
    """The capture behind the figures, for renderers that show more than their sums."""
    if report.history is None:
        raise HotloopError("this format needs a capture; record one with `hotloop run`")
    return report.history


def report_document(report: Report) -> dict[str, Any]:
    """The whole report as plain data."""
    analysis = report.analysis
    return {
        "schema": SCHEMA,
        "run": run_document(report),
        "overhead": asdict(analysis.overhead),
        "coverage": analysis.coverage,
        "explained": report.accounting.explained,
        "inferred": report.accounting.inferred,
        "unexplained": report.accounting.unexplained,
        "unidentified": [asdict(each) for each in unidentified(analysis)],
        "tokens": asdict(made) if (made := tokens(analysis)) else None,
        "optimizers": [asdict(each) for each in optimizers(analysis)],
        "outside_s": analysis.outside_s,
        "once": [asdict(each) for each in analysis.once],
        "returns": returns_document(analysis),
        "phases": [_named(asdict(phase), "process", analysis) for phase in analysis.phases],
        "startup": [_named(asdict(phase), "process", analysis) for phase in analysis.startup],
        "after": [_named(asdict(phase), "process", analysis) for phase in analysis.after],
        "categories": report.categories,
        "imports": [asdict(each) for each in import_lines(analysis)],
        "functions": [_named(asdict(f), "process", analysis) for f in _functions_shown(analysis)],
        "thread_functions": [asdict(f) for f in analysis.thread_functions[:MOST_FUNCTIONS]],
        "exact_functions": [each.recorded() for each in analysis.exact_functions],
        "processes": [_named(asdict(p), "name", analysis) for p in analysis.processes],
        "run_table": [_named(asdict(row), "process", analysis) for row in analysis.run_table],
        "workers": asdict(split) if (split := split_steps(analysis.phases)) else None,
        "device": asdict(analysis.device) if analysis.device else None,
        "bounds": bounds_document(analysis),
        "transfers": transfer_lines(analysis),
        "findings": [finding_document(finding) for finding in report.findings],
        "libraries": {title: use.recorded() for title, use in analysis.notes.libraries.items()},
        "shapes": analysis.notes.shapes,
        "named_phases": analysis.notes.named_phases,
        "notes": remarks(analysis),
        "damaged_lines": analysis.damaged,
        "damaged_values": analysis.damaged_values,
        "verdict": {"sentence": report.verdict.sentence, **asdict(report.verdict)},
    }


def _functions_shown(analysis: Analysis) -> list[Function]:
    """The most of the main process, and fewer of each other one."""
    shown: list[Function] = []
    listed: dict[str, int] = {}
    for function in analysis.functions:
        number = listed[function.process] = listed.get(function.process, 0) + 1
        if number <= (MOST_FUNCTIONS if function.process == "main" else MOST_OF_OTHERS):
            shown.append(function)
    return shown[: 10 * MOST_FUNCTIONS]


def bounds_document(analysis: Analysis) -> dict[str, Any] | None:
    """Shares of the host's time by its use: for the whole loop, and for each phase's own time."""
    if analysis.bound is None:
        return None
    return {
        "whole": asdict(analysis.bound),
        "phases": {path: asdict(bound) for path, bound in analysis.bounds.items()},
    }


def transfer_lines(analysis: Analysis) -> list[dict[str, Any]]:
    """Lines of the program that move tensors or wait for a device, the most first."""
    return [asdict(line) for line in analysis.notes.transfer_lines]


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    example = "\n".join(line[0] + line[2:] for line in finding.example)
    return {**asdict(finding), "diff": finding.patch or example}


def run_document(report: Report) -> dict[str, Any]:
    """The figures of the whole run."""
    analysis, run = report.analysis, report.analysis.run
    header = run.header
    return {
        "name": analysis.name,
        "command": run.command,
        "wall_s": run.wall_s,
        "startup_s": run.startup_s,
        "loop_s": run.loop_s,
        "after_s": run.after_s,
        "env_steps": run.env_steps,
        "episodes": run.episodes,
        "gradient_steps": run.gradient_steps,
        "learns_from_data": learns_from_data(analysis),
        "gradient_steps_per_s": run.gradient_steps_per_s,
        "samples_per_s": run.samples_per_s,
        "samples": run.samples,
        "steps_per_s": run.steps_per_s,
        "agent_steps": run.agent_steps,
        "agent_steps_per_s": run.agent_steps_per_s,
        "return_last": analysis.returns.last,
        "steps_per_episode": run.steps_per_episode,
        "updates_per_step": run.updates_per_step,
        "batch_size": run.batch_size,
        "sequences_per_batch": run.sequences_per_batch,
        "sequence_length": run.sequence_length,
        "counters": run.counters,
        "device": run.device,
        "processes": run.processes,
        "memory_peak_mb": run.memory_peak_mb,
        "cpu_share": run.cpu_share,
        "cpu_wait_share": report.verdict.cpu_wait_share,
        "finished": run.end is not None,
        "exit": run.end.recorded() if run.end else {},
        "ending": report.ending,
        "python": header.python,
        "platform": header.platform,
        "cores": header.cores,
        "hotloop": header.version,
        "native": header.native,
        "started": header.started,
    }


def _named(row: dict[str, Any], key: str, analysis: Analysis) -> dict[str, Any]:
    """A row with its process's own name, if another process than main trains."""
    trainer = analysis.notes.trains_in
    if trainer is not None:
        row[key] = {"main": trainer, LAUNCHER: "main"}.get(row[key], row[key])
    return row
