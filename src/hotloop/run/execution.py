"""Runs a program from start to end, and handles its exceptions and exits as Python does."""

from __future__ import annotations

import signal
import sys
from time import monotonic

from hotloop.capture.schema import End
from hotloop.run import program as programs
from hotloop.run.messages import notify
from hotloop.run.session import Session
from hotloop.run.stopping import StopAfter, StopTraining, end_children


def run_program(
    session: Session,
    program: programs.Program,
    stop: StopAfter | None = None,
    summary_s: float | None = None,
    until_return: float | None = None,
) -> int:
    """Run the program in a session that has started; return its exit code."""
    stoppers = [session.stop_after(stop)] if stop is not None else []
    if until_return is not None:
        stoppers.append(session.stop_at_return(until_return))
    if summary_s is not None:
        _summary_every(session, summary_s)
    own_code = session.attached.own_code
    try:
        programs.execute(program, own_code.inspect_main if own_code else None)
    except BaseException as error:
        asked = any(stopper.asked for stopper in stoppers)
        if not asked or isinstance(error, KeyboardInterrupt):
            code = _failed(session, error)
            if not isinstance(error, SystemExit):
                programs.forget_file(program)
            return code
        _stopped(error)
    programs.forget_file(program)
    session.exit = {End.reason: "exit", End.code: 0}
    return 0


def _stopped(error: BaseException) -> None:
    """The program was stopped by an exception that may arrive inside any code.

    Code that catches everything (a library's construction, a C++ callback) raises something else
    instead, or leaves an object half made: none of that is the program's fault.
    """
    end_children()
    if not isinstance(error, SystemExit):
        shown = f"{type(error).__name__}: {error}".splitlines()[0]
        notify(f"--stop-after ended the program, which raised as it was stopped: {shown:.200}")
    elif not isinstance(error, StopTraining) and error.code:
        notify(f"--stop-after ended the program, which left with {error.code!r:.200}")


def _failed(session: Session, error: BaseException) -> int:
    if isinstance(error, SystemExit):
        code = programs.exit_code_of(error)
        session.exit = {End.reason: "exit", End.code: code}
        return code
    if isinstance(error, KeyboardInterrupt):
        session.exit = {End.reason: "KeyboardInterrupt"}
        session.dies_of = signal.SIGINT
        programs.show_exception(error)
        return 130  # where a process cannot die of a signal
    shown = error.error if isinstance(error, programs.ProgramError) else error
    session.exit = {End.reason: type(shown).__name__, End.code: 1}
    programs.show_exception(error)
    return 1


def _summary_every(session: Session, seconds: float) -> None:
    """Print a short breakdown at this interval."""
    due = monotonic() + seconds

    def show() -> None:
        nonlocal due
        if monotonic() >= due:
            due += seconds
            print(session.profiler.summary(), file=sys.stderr, flush=True)

    session.recorder.every_window(show)
