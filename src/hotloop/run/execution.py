"""Runs a program from start to end, and handles its exceptions and exits as Python does."""

from __future__ import annotations

import sys
from time import monotonic

from hotloop.capture.schema import End
from hotloop.run import program as programs
from hotloop.run.messages import notify
from hotloop.run.session import Session
from hotloop.run.stopping import StopAfter, Stopper, StopTraining, end_children


def run_program(
    session: Session,
    program: programs.Program,
    stop: StopAfter | None = None,
    summary_s: float | None = None,
    until_return: float | None = None,
) -> int:
    """Run the program in a session that has started; return its exit code.

    An exit that it asked for is raised: Python ends then as without hotloop.
    """
    stoppers = [session.stop_after(stop)] if stop is not None else []
    if until_return is not None:
        stoppers.append(session.stop_at_return(until_return))
    if summary_s is not None:
        _summary_every(session, summary_s)
    error = _run(session, program)
    if error is not None and _was_asked(stoppers, error):
        _stopped(error)
        error = None
    if isinstance(error, SystemExit) and not sys.flags.inspect:
        session.exit = {End.reason: "exit", End.code: programs.exit_code_of(error)}
        try:
            raise error
        finally:
            del error  # it holds the program's frames, and this frame would be one of them
    if error is not None:
        _failed(session, error)
    programs.forget_file(program)
    if error is None:
        session.exit = {End.reason: "exit", End.code: 0}
        return 0
    if type(error) is KeyboardInterrupt or sys.flags.inspect:  # `python -i` continues
        programs.raise_shown(error)
    return 1


def _run(session: Session, program: programs.Program) -> BaseException | None:
    """The exception that the program raised."""
    own_code = session.attached.own_code
    error: BaseException | None = None
    try:
        programs.execute(program, own_code.inspect_main if own_code else None)
    except BaseException as raised:
        error = raised
    try:
        programs.flush_output(program)
        return error
    finally:
        del error  # it holds this frame


def _was_asked(stoppers: list[Stopper], error: BaseException) -> bool:
    return not isinstance(error, KeyboardInterrupt) and any(each.asked for each in stoppers)


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


def _failed(session: Session, error: BaseException) -> None:
    if type(error) is KeyboardInterrupt:
        session.exit = {End.reason: "KeyboardInterrupt"}
        session.at_the_very_end = programs.die_of_interrupt
    elif isinstance(error, SystemExit):
        session.exit = {End.reason: "exit", End.code: programs.exit_code_of(error)}
    else:
        shown = error.error if isinstance(error, programs.ProgramError) else error
        session.exit = {End.reason: type(shown).__name__, End.code: 1}
    programs.show_exception(error)
    session.at_the_very_end()  # here too: a forked child has another session


def _summary_every(session: Session, seconds: float) -> None:
    """Print a short breakdown at this interval."""
    due = monotonic() + seconds

    def show() -> None:
        nonlocal due
        if monotonic() >= due:
            due += seconds
            print(session.profiler.summary(), file=sys.stderr, flush=True)

    session.recorder.every_window(show)
