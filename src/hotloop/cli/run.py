"""Run a training program and record where its time goes.

  hotloop run [options] script.py arguments…
  hotloop run [options] -m module arguments…
  hotloop run [options] -c code arguments…

The first word that is not an option of hotloop ends hotloop's options: everything after it is the
program's own. Its standard output, exit code and tracebacks stay as they are; hotloop speaks on
standard error and leaves a capture that `hotloop report` reads.
"""

from __future__ import annotations

import argparse
import re
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

from hotloop.errors import HotloopError
from hotloop.measure import program as programs
from hotloop.measure.device_watch import MODES, WINDOWS
from hotloop.measure.session import Session, Settings, say
from hotloop.measure.stopping import StopAfter, StopTraining, end_children, parse_stop_after
from hotloop.measure.trace import MOST_SLICES

HELP = "run a program and record where its time goes"

#: Letters of a capture's name; no file system takes more than 255.
LONGEST_NAME = 80


def add_phase_argument(parser: argparse._ActionsContainer) -> None:
    """The program's own functions as phases."""
    parser.add_argument(
        "--phase",
        metavar="PHASE=MODULE:NAME",
        action="append",
        default=[],
        help="time functions of your own as a phase: data=loader:load_prices, "
        "features=analyzer:Analyzer.* (again for more; also [tool.hotloop.phases] in "
        "pyproject.toml)",
    )


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "hotloop run [options] (script.py | -m module | -c code) [arguments]"
    parser.add_argument(
        "-o", "--output", metavar="FOLDER", help="the capture's folder (must not exist)"
    )
    parser.add_argument("--name", help="a name for the capture (default: the program's)")
    parser.add_argument("-q", "--quiet", action="store_true", help="print no report at the end")
    parser.add_argument(
        "--stop-after",
        metavar="AMOUNT",
        help="end the training early: 60s, 5000steps, 2episodes or 10iterations (exactly where the "
        "main process makes them, a second or two later where other processes do)",
    )
    parser.add_argument(
        "--functions",
        choices=("samples", "exact", "off"),
        default="samples",
        help="how functions are timed: sampled (default), exactly with cProfile, or not",
    )
    parser.add_argument(
        "--summary-every", metavar="TIME", help="print a short breakdown every so often: 30s, 5m"
    )
    add_phase_argument(parser)
    parser.add_argument(
        "--skip",
        metavar="PHASE",
        action="append",
        default=[],
        help="an experiment: do not run this phase, return its last result (changes the training)",
    )
    parser.add_argument(
        "--slow",
        metavar="PHASE=AMOUNT",
        action="append",
        default=[],
        help="an experiment: make this phase slower, by 2ms or 20%% a call",
    )
    parser.add_argument(
        "--live", action="store_true", help="show where the time goes while the program runs"
    )
    parser.add_argument(
        "--scalars",
        action="store_true",
        help="write the times of phases beside the curves that the program itself writes to "
        "TensorBoard, Weights & Biases or Stable-Baselines3's logger",
    )
    parser.add_argument(
        "--trace",
        action="store_true",
        help="keep single calls for a trace; `hotloop export -o run.perfetto.json` shows them",
    )
    parser.add_argument(
        "--trace-limit",
        metavar="CALLS",
        type=_above_zero,
        default=MOST_SLICES,
        help=f"keep at most so many (default: {MOST_SLICES:,})",
    )
    parser.add_argument(
        "--gpu",
        choices=MODES,
        default=WINDOWS,
        help="record what a GPU does: in short windows, a hundredth of the time in all (default), "
        "nearly always (full: slows the program), or off",
    )
    parser.add_argument("-m", dest="module", help="run a module, as python -m does")
    parser.add_argument("-c", dest="code", help="run code, as python -c does")


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> argparse.Namespace:
    """Options up to the program; the rest is the program's."""
    takes_value = {
        name: action.nargs != 0
        for name, action in parser._option_string_actions.items()
        if name not in ("-m", "-c")
    }
    at = 0
    while at < len(argv):
        word = argv[at]
        if word in ("--", "-m", "-c") or not word.startswith("-") or word == "-":
            break
        at += 2 if takes_value.get(word, False) else 1
    options = parser.parse_args(argv[:at])
    rest = argv[at + 1 :] if argv[at : at + 1] == ["--"] else argv[at:]
    if not rest:
        raise HotloopError("no program to run; write: hotloop run train.py")
    options.program = _find(rest)
    return options


def _find(words: list[str]) -> programs.Program:
    if words[0] in ("-m", "-c"):
        if len(words) < 2:
            raise HotloopError(f"{words[0]} needs {'a module' if words[0] == '-m' else 'code'}")
        find = programs.find_module if words[0] == "-m" else programs.find_code
        return find(words[1], words[2:])
    return programs.find_script(words[0], words[1:])


def main(options: argparse.Namespace) -> int:
    program: programs.Program = options.program
    stop = parse_stop_after(options.stop_after) if options.stop_after else None
    summary_s = _seconds(options.summary_every) if options.summary_every else None
    phases = _phases(options.phase, program)
    if options.skip or options.slow:
        from hotloop.hooks import alter

        alter.check(options.skip, options.slow)
    folder = make_folder(options.output, options.name or program.label)
    session = Session(
        Settings(
            str(folder),
            options.functions,
            phases,
            options.quiet,
            options.skip,
            options.slow,
            options.trace_limit if options.trace else 0,
            scalars=options.scalars,
            gpu=options.gpu,
        ),
        root_code=programs.execute.__code__,
    )
    # Before the session, so that the viewer does not take part in it.
    end_live = _start_live(folder) if options.live else None
    session.start(program.argv)

    def finish() -> None:
        if end_live is not None:
            end_live()
        _show(folder, phases, options.quiet)

    session.on_finish = finish
    return _run(session, program, stop, summary_s)


def _start_live(folder: Path) -> Callable[[], None]:
    """Show the run below the program's output; the answer ends that.

    Another process draws, in a session of its own: Ctrl-C is for the program, and whatever becomes
    of the viewer, the training goes on.
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


def _run(
    session: Session, program: programs.Program, stop: StopAfter | None, summary_s: float | None
) -> int:
    """The program from begin to end, with Python's own manners at the end."""
    if stop is not None:
        session.stop_after(stop)
    if summary_s is not None:
        session.summary_every(summary_s)
    try:
        own_code = session.own_code
        programs.execute(program, own_code.look_at_main if own_code else None)
        code = 0
    except SystemExit as error:
        code = programs.exit_code_of(error)
        session.exit = {"reason": "exit", "code": code}
        if isinstance(error, StopTraining):
            end_children()
    except KeyboardInterrupt as error:
        code = 130  # where a process cannot die of a signal
        session.exit = {"reason": "KeyboardInterrupt"}
        session.dies_of = signal.SIGINT
        programs.show_exception(error)
    except BaseException as error:
        code = 1
        shown = error.error if isinstance(error, programs.ProgramError) else error
        session.exit = {"reason": type(shown).__name__, "code": code}
        programs.show_exception(error)
    else:
        session.exit = {"reason": "exit", "code": code}
    return code


def make_folder(output: str | None, label: str) -> Path:
    """The capture's folder, made now: never one that exists."""
    if output is not None:
        folder = Path(output).absolute()
        candidates = [folder]
    else:
        stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", label)[:LONGEST_NAME].strip("-.")
        stem = stem or "program"
        stamp = time.strftime("%Y%m%d-%H%M%S")
        base = Path("runs/hotloop").absolute()
        candidates = [base / f"{stem}-{stamp}"]
        candidates += [base / f"{stem}-{stamp}-{n}" for n in range(2, 1000)]
    for candidate in candidates:
        try:
            candidate.mkdir(parents=True)
        except FileExistsError:
            if output is not None:
                raise HotloopError(
                    f"{output}: already exists, and a capture is never overwritten; choose another"
                ) from None
        except OSError as error:
            raise HotloopError(
                f"{candidate}: cannot be made ({error.strerror}); choose a folder with -o"
            ) from None
        else:
            return candidate
    raise HotloopError(f"{candidates[0]}: already exists; choose a folder with -o")


def _above_zero(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _seconds(text: str) -> float:
    limit = parse_stop_after(text)
    if limit.what != "seconds":
        raise HotloopError(f"--summary-every {text}: a time, such as 30s or 5m")
    return limit.amount


def _phases(written: list[str], program: programs.Program) -> list[str]:
    """The patterns of the command line, then the project's own: the first that fits counts."""
    from hotloop.hooks.named import parse_phase, phases_of_project

    given = [str(parse_phase(text)) for text in written]
    return given + phases_of_project(Path(program.path0 or ".").absolute())


def _show(folder: Path, phases: list[str], quiet: bool) -> None:
    if not quiet:
        show_end(folder)
    if phases:
        say_unmatched(folder, phases)


def say_unmatched(folder: Path, phases: list[str]) -> None:
    """Name the patterns that matched nothing, in no process of the run."""
    from hotloop.capture.reader import read_capture

    try:
        notes = [shard.notes.get("named_phases") for shard in read_capture(folder).shards]
    except HotloopError:
        return
    matched = {p for note in notes if isinstance(note, dict) for p, n in note.items() if n}
    for pattern in phases:
        if pattern not in matched:
            say(f"--phase {pattern}: nothing of that name was found")


def show_end(folder: Path) -> None:
    """The report of what was just recorded, and what to type next."""
    from hotloop.analyze.analysis import analyze
    from hotloop.capture.reader import read_capture
    from hotloop.diagnose import diagnose
    from hotloop.report.terminal import style_for, write
    from hotloop.report.text import View, text_report

    try:
        analysis = analyze(read_capture(folder))
    except HotloopError as error:
        say(str(error))
        return
    run = analysis.run
    if run.failed and not run.env_steps and not run.counters.get("gradient_steps"):
        # Its own error stands above; a table of its imports would only hide that.
        say(f"the program failed before any step of a training; what there is: {shown(folder)}")
        return
    text = text_report(analysis, diagnose(analysis), style_for(sys.stderr), View(top=5))
    write(sys.stderr, f"\n{text}\nNext: hotloop report {shown(folder)}")


def shown(folder: Path) -> str:
    """A folder as one would type it from here."""
    import shlex

    try:
        folder = folder.relative_to(Path.cwd())
    except (ValueError, OSError):
        pass
    return shlex.quote(str(folder))
