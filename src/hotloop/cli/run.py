"""Run a training program and record where its time goes.

  hotloop run [options] script.py arguments…
  hotloop run [options] -m module arguments…
  hotloop run [options] -c code arguments…

hotloop's own options come first; everything after the script, module or code is passed to the
program. The program's standard output, exit code and tracebacks stay the same. hotloop writes to
standard error and leaves a capture that `hotloop report` reads.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Collection
from pathlib import Path

from hotloop.capture.schema import Notes
from hotloop.cli.numbers import above_zero
from hotloop.errors import HotloopError
from hotloop.masking import mask_arguments
from hotloop.measure.device_watch import MODES, WINDOWS
from hotloop.measure.trace import MOST_SLICES
from hotloop.run import program as programs
from hotloop.run.folders import BASE, as_typed, make_folder, make_or_join
from hotloop.run.messages import notify
from hotloop.run.naming import MAIN, STARTED
from hotloop.run.own_folders import missing


def add_phase_argument(parser: argparse._ActionsContainer) -> None:
    """The program's own functions as phases."""
    parser.add_argument(
        "--phase",
        metavar="PHASE=MODULE:NAME",
        action="append",
        default=[],
        help="time your own functions as a phase: data=loader:load_prices, "
        "features=analyzer:Analyzer.* (repeatable; also [tool.hotloop.phases] in "
        "pyproject.toml)",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "hotloop run [options] (script.py | -m module | -c code) [arguments]"
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="folder for the capture (must not exist)"
    )
    parser.add_argument(
        "--join",
        action="store_true",
        help="type the same command on several machines, with -o in a folder that all of them "
        "share; the first one starts the run, the others join it",
    )
    parser.add_argument("--name", help="name of the capture (default: the program's)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report at the end")
    parser.add_argument(
        "--stop-after",
        metavar="AMOUNT",
        help="stop early: 60s after the first training step, 60s-total after the start, "
        "5000steps, 2episodes or 10iterations (exact if the main process counts them, within a "
        "second or two if workers do)",
    )
    parser.add_argument(
        "--functions",
        choices=("samples", "exact", "off"),
        default="samples",
        help="how to time functions: sampled (default), exactly with cProfile, or off",
    )
    parser.add_argument(
        "--summary-every", metavar="TIME", help="print a short breakdown at this interval: 30s, 5m"
    )
    add_phase_argument(parser)
    parser.add_argument(
        "--skip",
        metavar="PHASE",
        action="append",
        default=[],
        help="an experiment: skip this phase and return its last result (changes the training)",
    )
    parser.add_argument(
        "--slow",
        metavar="PHASE=AMOUNT",
        action="append",
        default=[],
        help="an experiment: make this phase slower, by 2ms or 20%% per call",
    )
    parser.add_argument(
        "--every",
        metavar="PHASE=N",
        action="append",
        default=[],
        help="an experiment: run this phase only every Nth time, such as evaluate=10",
    )
    parser.add_argument(
        "--fix",
        metavar="NAME",
        action="append",
        default=[],
        help="apply a run-time fix of `hotloop prove`, such as threads=1 or fused-optimizer",
    )
    parser.add_argument(
        "--weights", action="store_true", help="record a digest of the trained weights at the end"
    )
    parser.add_argument(
        "--until-return",
        type=float,
        metavar="X",
        help="end the run when the mean return of the last 100 episodes reaches X",
    )
    parser.add_argument(
        "--live", action="store_true", help="show where the time goes while the program runs"
    )
    parser.add_argument(
        "--scalars",
        action="store_true",
        help="also write phase times to the TensorBoard, Weights & Biases or Stable-Baselines3 "
        "logger that the program uses",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="keep individual calls for a trace: `hotloop export -o run.perfetto.json`",
    )
    parser.add_argument(
        "--trace-limit",
        metavar="CALLS",
        type=above_zero,
        default=MOST_SLICES,
        help=f"maximum number of calls to keep (default: {MOST_SLICES:,})",
    )
    parser.add_argument(
        "--gpu",
        choices=MODES,
        default=WINDOWS,
        help="record GPU activity: in short windows, 1%% of the time (default), almost always "
        "(full; slows the program), or off",
    )
    parser.add_argument(
        "--every-call",
        action="store_true",
        help="measure every call throughout; by default, calls are measured in short stretches "
        "after the first half minute and scaled, which costs less (not with --trace, --scalars "
        "or a GPU)",
    )
    parser.add_argument(
        "--every-call-for",
        metavar="TIME",
        help="measure every call for this long, at the start of the loop and after each change of "
        "behavior, before stretches begin (default: 30s)",
    )
    parser.add_argument("-m", dest="module", help="run a module, as python -m does")
    parser.add_argument("-c", dest="code", help="run code, as python -c does")


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """Options up to the program; the rest is the program's."""
    options, words = split_at_program(parser, argv, "hotloop run train.py")
    options.words, options.program = words, _find(words)
    if not options.quiet:
        known = parser._option_string_actions.keys() - {"-m", "-c"}
        _hint_at_late_options(options.program, known)
    return options


def split_at_program(
    parser: argparse.ArgumentParser, argv: list[str], example: str
) -> tuple[argparse.Namespace, list[str]]:
    """hotloop's options, and the words of the program: after `--`, or from the first positional."""
    actions = parser._option_string_actions
    at = 0
    while at < len(argv):
        word = argv[at]
        if word in ("--", "-m", "-c") or not word.startswith("-") or word == "-":
            break
        at += 2 if word in actions and actions[word].nargs != 0 else 1
    words = argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]
    options = parser.parse_args(argv[:at])
    if not words:
        raise HotloopError(f"no program to run; write: {example}")
    return options, words


def _hint_at_late_options(program: programs.Program, known: Collection[str]) -> None:
    """Mention hotloop options after the program's name: they are passed to the program."""
    late = [word for word in program.argv[1:] if word.startswith("--") and word in known]
    if late and late[0] != "--help":
        notify(f"{late[0]} is passed to the program; hotloop's own options go before it")


def _find(words: list[str]) -> programs.Program:
    if words[0] in ("-m", "-c"):
        if len(words) < 2:
            raise HotloopError(f"{words[0]} needs {'a module' if words[0] == '-m' else 'code'}")
        find = programs.find_module if words[0] == "-m" else programs.find_code
        return find(words[1], words[2:])
    return programs.find_script(words[0], words[1:])


def _working_folder() -> str:
    try:
        return os.getcwd()
    except FileNotFoundError:  # the folder was deleted; a program that does not need it still runs
        return ""


def main(options: argparse.Namespace) -> int:
    from hotloop.integrations import SCALARS
    from hotloop.run.execution import run_program
    from hotloop.run.options import check_alterations
    from hotloop.run.session import Session
    from hotloop.run.settings import Settings
    from hotloop.run.stopping import parse_stop_after

    program: programs.Program = options.program
    stop = parse_stop_after(options.stop_after) if options.stop_after else None
    summary_s = _seconds("--summary-every", options.summary_every)
    full_s = _seconds("--every-call-for", options.every_call_for) or 0.0
    phases = _phases(options.phase, program)
    check_alterations(options.skip, options.slow, options.every, options.fix)
    new_folders = [] if options.output else missing(BASE)
    folder, joins = _folder(options, program)
    typed = as_typed(folder)  # before the program changes the current folder
    session = Session(
        Settings(
            folder=str(folder),
            functions=options.functions,
            phases=phases,
            quiet=options.quiet,
            skip=options.skip,
            slow=options.slow,
            every=options.every,
            fixes=options.fix,
            weights=options.weights,
            trace=options.trace_limit if options.trace else 0,
            scalars=SCALARS if options.scalars else "",
            gpu=options.gpu,
            every_call=options.every_call,
            every_call_s=full_s,
        ),
        role=STARTED if joins else MAIN,
        root_code=program.root_code,
    )
    session.made_folders = new_folders
    # Before the session, so that the viewer does not take part in it.
    end_live = _start_live(folder) if options.live else None
    session.start(program.command)
    session.recorder.note(Notes.started_as, mask_arguments(options.words))
    session.recorder.note(Notes.started_in, _working_folder())

    def finish() -> None:
        if end_live is not None:
            end_live()
        if not joins:  # the machine that started the run shows it
            _show(folder, typed, phases, options)

    session.on_finish = finish
    return run_program(session, program, stop, summary_s, options.until_return)


def _folder(options: argparse.Namespace, program: programs.Program) -> tuple[Path, bool]:
    """(the capture's folder, whether it is that of a run that another machine has started)."""
    label = options.name or program.label
    if not options.join:
        return make_folder(options.output, label), False
    if options.output is None:
        raise HotloopError("--join needs -o FOLDER, in a folder that all machines share")
    return make_or_join(options.output, label)


def _start_live(folder: Path) -> Callable[[], None]:
    """Show the run below the program's output; calling the result ends that.

    Another process draws, in a session of its own: Ctrl-C is for the program, and if the viewer
    fails, the training continues.
    """
    import subprocess

    viewer = subprocess.Popen(
        [sys.executable, "-m", "hotloop", "live", str(folder), "--foot"],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        start_new_session=True,
    )

    def end() -> None:
        viewer.terminate()
        try:
            viewer.wait(timeout=5)
        except subprocess.TimeoutExpired:
            viewer.kill()

    return end


def _seconds(option: str, text: str | None) -> float | None:
    from hotloop.run.stopping import parse_time

    return parse_time(option, text) if text else None


def _phases(written: list[str], program: programs.Program) -> list[str]:
    from hotloop.run.options import all_phases

    folder = program.path0 or _working_folder()
    # A relative one is left where the working folder was deleted.
    return all_phases(written, Path(folder if os.path.isabs(folder) else os.sep))


def _show(folder: Path, typed: str, phases: list[str], options: argparse.Namespace) -> None:
    if not options.quiet:
        from hotloop.experiment.own_lines import with_patches
        from hotloop.report.after_run import show_end

        show_end(folder, typed, options.output is None, with_patches)
    if phases:
        report_unmatched(folder, phases)


def report_unmatched(folder: Path, phases: list[str]) -> None:
    """Report `--phase` patterns that matched nothing in any process of the run."""
    from hotloop.analyze.processes.training import read_capture

    try:
        shards = read_capture(folder).shards
    except HotloopError:
        return
    matched = {p for shard in shards for p, count in shard.notes.named_phases.items() if count}
    for pattern in phases:
        if pattern not in matched:
            notify(f"--phase {pattern}: no function of that name was found")
