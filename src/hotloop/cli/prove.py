"""Try the fix of each finding and measure its gain.

  hotloop prove                              the newest capture below runs/hotloop
  hotloop prove CAPTURE --budget 10m
  hotloop prove -- train.py --seed 1         record the program first
  hotloop prove CAPTURE --apply              write the confirmed changes to your files

Runs the program with and without each fix, in short interleaved pairs, in copies of the program's
folder, so your files do not change. Files too large to copy are linked, and listed before the first
run: a program that writes to them, or to a path outside its folder, writes to the real ones. The
result is stored in the capture's folder, and `hotloop report` shows measured gains from then on.
Run it in the folder in which the program was started.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Analysis
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.proofs import Proof, read_proof, write_proof
from hotloop.cli import experiments
from hotloop.cli.selection import selected_capture
from hotloop.diagnose import diagnose
from hotloop.diagnose.finding import Finding
from hotloop.errors import HotloopError
from hotloop.experiment.applying import apply_patches, check_together, confirmed_diffs
from hotloop.experiment.command import Command, check_exists, parse_command
from hotloop.experiment.fixes import Fix, run_time_fixes
from hotloop.experiment.here import Here, Job
from hotloop.experiment.launch import Launch
from hotloop.experiment.measured import RunFailedError, measured
from hotloop.experiment.patches import source_fixes
from hotloop.experiment.prover import Prover
from hotloop.experiment.scratch import ScratchPlace, links_in_words, removed_after, why_not_again
from hotloop.masking import MASK
from hotloop.report.console.terminal import style_for, write
from hotloop.report.results.proof import proof_text
from hotloop.run.folders import as_typed, make_folder
from hotloop.run.stopping import parse_time

#: The first run of `prove -- train.py` may take this part of the budget: rules need its length.
FIRST_RUN_SHARE = 0.25


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "hotloop prove [options] [CAPTURE | -- train.py arguments]"
    parser.add_argument("capture", nargs="?", help="a capture's folder (default: the newest)")
    parser.add_argument(
        "--budget", default="5m", metavar="TIME", help="maximum total time (default: 5m)"
    )
    parser.add_argument(
        "--allow-learning-changes",
        action="store_true",
        help="also try fixes that change how the agent learns, such as fewer updates",
    )
    parser.add_argument(
        "--apply",
        action="store_true",
        help="write the confirmed patches to the program's files; untried fixes are tried first",
    )
    parser.add_argument(
        "-f",
        "--force",
        action="store_true",
        help="also change files with uncommitted changes (with --apply)",
    )
    parser.add_argument("--folder", help="folder for the runs (default: below runs/hotloop)")
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print the result"
    )


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    at = argv.index("--") if "--" in argv else len(argv)
    options = parser.parse_args(argv[:at])
    options.program = argv[at + 1 :]
    if options.program and options.capture:
        raise HotloopError("name a capture or a program, not both")
    if "--" in argv and not options.program:
        raise HotloopError("no program to run; write: hotloop prove -- train.py")
    return options


def main(options: argparse.Namespace) -> int:
    budget_s = parse_time("--budget", options.budget)
    if not options.program:
        capture = selected_capture(options.capture, proven=options.apply)
        command = command_of(analyze(read_capture(capture)))
        known = read_proof(capture) if options.apply else None
        if known is not None:
            return _apply(known, capture, command, options.force)
    else:
        command = parse_command(options.program)
        check_exists(command)
    if shared := links_in_words(Path(command.folder or ".").absolute()):
        experiments.notify(shared)
    folder = experiments.make_folder(options.folder, "prove")
    if options.program:
        begin = time.monotonic()
        capture = _first_run(command, folder, FIRST_RUN_SHARE * budget_s)
        budget_s -= time.monotonic() - begin
    proof = prove(command, capture, folder, budget_s, options.allow_learning_changes)
    if options.format == "json":
        write(sys.stdout, json.dumps(proof.document(), indent=1) + "\n")
    else:
        write(sys.stdout, proof_text(proof, style_for(sys.stdout), str(capture)))
    if proof.interrupted:
        return 130
    return _apply(proof, capture, command, options.force) if options.apply else 0


def _apply(proof: Proof, capture: Path, command: Command, force: bool) -> int:
    diffs = confirmed_diffs(proof)
    if not diffs:
        raise HotloopError("no confirmed change to the program's own code to apply")
    if not force:
        check_together(proof, diffs)
    program = Path(command.folder or ".").absolute()
    names, reverse = apply_patches(program, diffs, capture, force)
    experiments.notify(f"changed {', '.join(names)}")
    if program == Path.cwd():
        experiments.notify(f"to undo: git apply {as_typed(reverse.absolute())}")
    else:
        where = shlex.quote(str(program))
        undo = f"git -C {where} apply {shlex.quote(str(reverse.absolute()))}"
        experiments.notify(f"to undo: {undo}")
    return 0


def prove(
    command: Command,
    capture: Path,
    folder: Path,
    budget_s: float,
    allow_learning_changes: bool = False,
    say: Callable[[str], None] = experiments.notify,
) -> Proof:
    """Try the fixes of a capture's findings and keep the result next to the capture."""
    analysis = replace(analyze(read_capture(capture)), proof=None)
    findings = diagnose(analysis)

    program = Path(command.folder or ".").absolute()

    def fixes_of(finding: Finding) -> list[Fix]:
        # Try a patch of the program's own lines first: the user can keep it.
        recorded_in = analysis.notes.started_in or ""
        return [*source_fixes(finding, program, recorded_in), *run_time_fixes(analysis, finding)]

    prover = Prover(
        command,
        analysis,
        findings,
        fixes_of,
        folder,
        Here(),
        say,
        budget_s,
        allow_learning_changes,
    )
    proof = prover.go()
    write_proof(capture, proof)
    say(f"saved in {as_typed(capture)}; `hotloop report {as_typed(capture)}` shows it")
    return proof


def command_of(analysis: Analysis) -> Command:
    """The command that a capture was recorded with."""
    words = analysis.notes.started_as or analysis.run.command
    if not words or words[0].startswith("%"):
        raise HotloopError(
            "this capture has no program to run again; write: hotloop prove -- train.py"
        )
    if any(MASK in word for word in words):
        raise HotloopError(
            "the capture masks secrets in the command; write: hotloop prove -- train.py …"
        )
    started_in = analysis.notes.started_in
    command = parse_command(list(words))
    if started_in and Path(started_in).is_dir():
        command = replace(command, folder=started_in)
    return command


def _first_run(command: Command, folder: Path, seconds: float) -> Path:
    """Record the program once, in a copy of its folder; the capture is one of the user's."""
    launch = Launch("first", command, str(folder / "first"), f"{seconds:.0f}s")
    experiments.notify(f"recording {command} for up to {seconds:.0f} s")
    with removed_after(folder / "scratch") as scratch:
        place = ScratchPlace.unlimited(Here(), scratch / "run")
        for _, outcomes in place.outcomes([Job(0, (launch,))]):
            try:
                measured(outcomes[0], launch)
            except RunFailedError as error:
                hint = why_not_again(error.run.last_lines)
                raise HotloopError(f"{error}\n{hint}") from None
    # Moved out of the folder of the runs, which `hotloop clean` deletes.
    label = Path(command.words[1 if command.words[0] == "-m" else 0]).stem
    kept = make_folder(None, label if command.words[0] != "-c" else "program")
    for path in (folder / "first").iterdir():
        shutil.move(path, kept / path.name)
    (folder / "first").rmdir()
    return kept
