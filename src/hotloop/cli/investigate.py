"""Try a plan of hypotheses as short experiments, and say which hold.

  hotloop investigate --from CAPTURE -o plan.toml    draft a plan from what a capture shows
  hotloop investigate plan.toml                      try it: the likeliest and cheapest first
  hotloop investigate plan.toml --resume             go on with one that was cut short

Each hypothesis is a change (arguments, environment variables, a patch, a phase to skip or to slow
down), an expected gain and a confidence. The result: expected against measured with a verdict each,
the confirmed ones together, whether the goal is met, and a Markdown record to keep.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import sys
import time
from pathlib import Path

from hotloop.cli import experiments
from hotloop.cli.run import shown
from hotloop.errors import HotloopError
from hotloop.experiment.investigating import Investigation, Investigator
from hotloop.experiment.plan import Plan, read_plan
from hotloop.report.investigation import (
    investigation_document,
    investigation_markdown,
    investigation_text,
)
from hotloop.report.output import save
from hotloop.report.terminal import Style, write

HELP = "try hypotheses as short experiments, and say which hold"

#: The names that a plan and a record have in an investigation's folder.
PLAN, RECORD = "plan.toml", "record.md"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("plan", nargs="?", help="a plan (TOML)")
    parser.add_argument(
        "--from", dest="capture", metavar="CAPTURE", help="draft a plan from this capture"
    )
    parser.add_argument(
        "--resume",
        nargs="?",
        const="",
        metavar="FOLDER",
        help="go on with an investigation that was cut short (default: the newest)",
    )
    experiments.add_place_arguments(parser)
    experiments.add_output_arguments(parser, {"markdown": (".md",), "plan": (".toml",)})


def main(options: argparse.Namespace) -> int:
    if options.capture is not None:
        return _draft(options)
    experiments.check_output(options)
    place = experiments.place(options)
    try:
        plan, folder = _plan_and_folder(options)
        investigation = Investigator(plan, folder, place, experiments.say).go()
    finally:
        place.close()
    record = folder / RECORD
    record.write_text(_record(investigation), encoding="utf-8")
    experiments.say(f"the record is {shown(record)}")
    experiments.show(options, lambda form, style: _rendered(form, style, investigation))
    if investigation.failure is not None:
        print(f"hotloop: {investigation.failure}", file=sys.stderr)
        return investigation.failure.exit_code
    return 130 if investigation.interrupted else 0


def _draft(options: argparse.Namespace) -> int:
    from hotloop.analyze.analysis import analyze
    from hotloop.capture.reader import read_capture
    from hotloop.diagnose import diagnose
    from hotloop.experiment.draft import draft_plan

    if options.plan is not None:
        raise HotloopError("--from drafts a plan; leave the other one out, or name it with -o")
    analysis = analyze(read_capture(options.capture))
    text = draft_plan(analysis, diagnose(analysis))
    if options.output:
        save(Path(options.output), text, options.force)
        experiments.say(f"wrote {options.output}; next: hotloop investigate {options.output}")
    else:
        write(sys.stdout, text)
    return 0


def _plan_and_folder(options: argparse.Namespace) -> tuple[Plan, Path]:
    if options.resume is not None:
        folder = Path(options.resume) if options.resume else _newest()
        if not (folder / PLAN).is_file():
            raise HotloopError(f"{folder}: no investigation to resume (it holds no {PLAN})")
        path = Path(options.plan) if options.plan else folder / PLAN
        plan = read_plan(path)
        experiments.say(f"going on in {shown(folder)}")
        return plan, folder
    if options.plan is None:
        raise HotloopError(
            "no plan; write one, or draft it: hotloop investigate --from CAPTURE -o plan.toml"
        )
    plan = read_plan(Path(options.plan))
    folder = experiments.make_folder(options.folder, "investigate")
    _keep(Path(options.plan), plan, folder)
    return plan, folder


def _keep(path: Path, plan: Plan, folder: Path) -> None:
    """The plan and its patches as they are now, so that the record stays true and can go on."""
    shutil.copyfile(path, folder / PLAN)
    for hypothesis in plan.hypotheses:
        if hypothesis.change.patch:
            target = folder / hypothesis.change.patch
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(plan.folder / hypothesis.change.patch, target)


def _newest() -> Path:
    found = list(Path("runs/hotloop").glob(f"investigate-*/{PLAN}"))
    if not found:
        raise HotloopError("no investigation below runs/hotloop to resume; name its folder")
    return max(found, key=lambda path: path.stat().st_mtime).parent


def _rendered(form: str, style: Style, investigation: Investigation) -> str | bytes:
    if form == "html":
        from hotloop.report.investigation_page import render_investigation

        return render_investigation(investigation)
    if form in experiments.PICTURES:
        from hotloop.report.experiment_pictures import investigation_picture

        return investigation_picture(investigation, form)
    if form == "json":
        return json.dumps(investigation_document(investigation), indent=1) + "\n"
    if form == "markdown":
        return _record(investigation)
    return investigation_text(investigation, style)


def _record(investigation: Investigation) -> str:
    machine = f"{platform.machine()}, {platform.system()}, Python {platform.python_version()}"
    return investigation_markdown(investigation, time.strftime("%Y-%m-%d"), machine)
