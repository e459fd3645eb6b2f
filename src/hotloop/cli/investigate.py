"""Test hypotheses about what makes training slow, as short experiments.

  hotloop investigate --from CAPTURE -o plan.toml    draft a plan from a capture
  hotloop investigate plan.toml                      run it, the most likely and cheapest first
  hotloop investigate plan.toml --resume             continue an interrupted investigation
  hotloop investigate plan.toml --to-return 195      find the change that gets there soonest

Each hypothesis is a change (arguments, environment variables, a patch, a phase to skip or to slow
down), an expected gain and a confidence. The result shows expected gain, measured gain and verdict
of each, the confirmed ones combined, and whether the goal is met; a Markdown record is kept. With
--to-return, or to_return in the plan's [goal], runs the baseline and every change over several
seeds until the return reaches the target, as sweep does.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from hotloop.capture import private
from hotloop.cli import experiments
from hotloop.cli.selection import selected_capture
from hotloop.errors import HotloopError
from hotloop.experiment.marker import write_marker
from hotloop.report.console.terminal import write
from hotloop.run.folders import BASE, as_typed

if TYPE_CHECKING:
    from hotloop.experiment.here import Place
    from hotloop.experiment.plan import Plan

#: The names that a plan and a record have in an investigation's folder.
PLAN, RECORD = "plan.toml", "record.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", help="a plan (TOML)")
    parser.add_argument(
        "--from",
        dest="capture",
        nargs="?",
        const="",
        metavar="CAPTURE",
        help="draft a plan from this capture (default: the newest)",
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="continue an interrupted investigation (default: the newest)",
    )
    experiments.add_return_arguments(parser)
    experiments.add_place_arguments(parser)
    experiments.add_output_arguments(parser, {"markdown": (".md",), "plan": (".toml",)})


def main(options: argparse.Namespace) -> int:
    if options.capture is not None:
        return _draft(options)
    experiments.check_output(options)
    place = experiments.place(options)
    try:
        plan = _read(options)
        if options.to_return is not None or plan.to_return is not None:
            from hotloop.cli import to_return

            to_return.check_format(options)
            return to_return.of_plan(options, plan, _folder(options, plan), place)
        if options.seeds is not None:
            raise HotloopError("--seeds needs --to-return; to test a plan for speed, use pairs")
        return _investigate(options, plan, _folder(options, plan), place)
    finally:
        place.close()


def _investigate(options: argparse.Namespace, plan: Plan, folder: Path, place: Place) -> int:
    from hotloop.experiment.investigating import Investigator
    from hotloop.report.results.experiments import record

    investigation = Investigator(plan, folder, place, experiments.notify).go()
    path = folder / RECORD
    private.write_text(path, record(investigation))
    experiments.notify(f"the record is in {as_typed(path)}")
    experiments.show(options, investigation)
    if investigation.failure is not None:
        print(f"hotloop: {investigation.failure}", file=sys.stderr)
        return HotloopError.exit_code
    return 130 if investigation.interrupted else 0


def _draft(options: argparse.Namespace) -> int:
    from hotloop.analyze.analysis import analyze
    from hotloop.analyze.processes.training import read_capture
    from hotloop.diagnose import diagnose
    from hotloop.experiment.draft import draft_plan
    from hotloop.report.output import save

    if options.plan is not None:
        raise HotloopError(
            "--from drafts a new plan; omit the existing one, or write to it with -o"
        )
    analysis = analyze(read_capture(selected_capture(options.capture or None)))
    text = draft_plan(analysis, diagnose(analysis))
    if options.output:
        save(Path(options.output), text, options.force)
        experiments.notify(f"wrote {options.output}; next: hotloop investigate {options.output}")
    else:
        write(sys.stdout, text)
    return 0


def _read(options: argparse.Namespace) -> Plan:
    from hotloop.experiment.plan import read_plan
    from hotloop.masking import MASK

    if options.resume is None and options.plan is None:
        raise HotloopError(
            "no plan given; to draft one: hotloop investigate --from CAPTURE -o plan.toml"
        )
    if options.resume is None:
        return read_plan(Path(options.plan))
    folder = _resumed(options)
    if not (folder / PLAN).is_file():
        raise HotloopError(f"{folder}: no investigation to resume (it holds no {PLAN})")
    path = Path(options.plan) if options.plan else folder / PLAN
    if MASK in path.read_text(encoding="utf-8", errors="replace"):
        raise HotloopError(
            f"{path}: its secrets are masked; name your own plan: "
            f"hotloop investigate plan.toml --resume {as_typed(folder)}"
        )
    return read_plan(path)


def _resumed(options: argparse.Namespace) -> Path:
    return Path(options.resume) if options.resume else _newest()


def _folder(options: argparse.Namespace, plan: Plan) -> Path:
    """The folder to resume in, or a new one that has a copy of the plan."""
    if options.resume is not None:
        folder = _resumed(options)
        write_marker(folder, "investigate")
        experiments.notify(f"resuming in {as_typed(folder)}")
        return folder
    folder = experiments.make_folder(options.folder, "investigate")
    _keep(Path(options.plan), plan, folder)
    return folder


def _keep(path: Path, plan: Plan, folder: Path) -> None:
    """Keep the plan and its patches as they are now, without secrets, to be resumed or read."""
    from hotloop.experiment.plan import masked_plan

    private.write_text(folder / PLAN, masked_plan(path.read_text(encoding="utf-8")))
    for hypothesis in plan.hypotheses:
        if hypothesis.change.patch:
            target = folder / hypothesis.change.patch
            private.make_folder(target.parent, exist_ok=True)
            text = (plan.folder / hypothesis.change.patch).read_text(encoding="utf-8")
            private.write_text(target, text)


def _newest() -> Path:
    found = list(BASE.glob(f"investigate-*/{PLAN}"))
    if not found:
        raise HotloopError(f"no investigation below {BASE} to resume; name its folder")
    return max(found, key=lambda path: path.stat().st_mtime).parent
