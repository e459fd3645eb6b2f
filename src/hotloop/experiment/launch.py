"""One run: `hotloop run` in a separate process, watched from outside, killed with this one."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from hotloop.analyze.processes.contention import Contention, contention
from hotloop.capture import private
from hotloop.experiment.command import Command
from hotloop.run.watch import Watch

#: Lines of a failed program's output that are shown.
LAST_LINES = 12
#: A program that was asked to end gets this long before it is killed.
PATIENCE_S = 10.0
_SET_PARENT_DEATH_SIGNAL = 1
#: Removed from a run's environment, so it does not join a session that hotloop is part of.
_SESSION = "HOTLOOP_SESSION"


@dataclass(frozen=True)
class Launch:
    """One run to make."""

    #: Its name for people: "first", "envs=64".
    name: str
    command: Command
    #: The folder of its capture; its output and outcome are stored next to it.
    capture: str
    stop_after: str | None = None
    timeout_s: float | None = None

    @property
    def log(self) -> Path:
        return Path(self.capture + ".log")

    @property
    def outcome(self) -> Path:
        return Path(self.capture + ".json")


@dataclass(frozen=True)
class Outcome:
    """How a run went."""

    name: str
    capture: str
    code: int | None
    seconds: float
    #: Why it counts as failed; empty if it does not.
    failure: str = ""
    last_lines: list[str] = field(default_factory=list)
    contention: Contention = field(default_factory=Contention)
    #: The node on which it ran, and whether it was tried before.
    node: str = ""
    retried: bool = False


def run(launch: Launch, again: bool = False) -> Outcome:
    """Make one run and keep how it went. Ctrl-C ends the program and is raised again."""
    private.make_folder(Path(launch.capture).parent, exist_ok=True)
    _put_aside(launch)
    outcome = _run(launch)
    return _keep(launch, replace(outcome, retried=again))


def _run(launch: Launch) -> Outcome:
    argv = launch.command.argv(os.path.abspath(launch.capture), launch.stop_after)
    begin = time.monotonic()
    with open(launch.log, "wb", opener=private.opener) as log:
        try:
            with _signals_held() as mask:
                process = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    cwd=launch.command.folder,
                    env=_environment(launch.command),
                    **_own_group(mask),
                )
        except OSError as error:
            return _failed(launch, None, begin, f"cannot start ({error.strerror})")
        watch = Watch(process.pid)
        late = False
        try:
            code = process.wait(launch.timeout_s)
        except subprocess.TimeoutExpired:
            late = True
            code = end(process)
        except BaseException:
            end(process)
            raise
        finally:
            observed = watch.stop()
    if late:
        why = f"did not end within {launch.timeout_s:g} s (--timeout)"
        return _failed(launch, code, begin, why)
    if code != 0:
        return _failed(launch, code, begin, _exit_in_words(code))
    seconds = time.monotonic() - begin
    return Outcome(
        launch.name, launch.capture, code, seconds, contention=contention(**vars(observed))
    )


def _put_aside(launch: Launch) -> None:
    """Move aside what an earlier attempt left (one that failed or was interrupted)."""
    number = 1
    while Path(f"{launch.capture}.try-{number}").exists():
        number += 1
    for path, ending in ((Path(launch.capture), ""), (launch.log, ".log")):
        if path.exists():
            path.rename(f"{launch.capture}.try-{number}{ending}")


def end(process: subprocess.Popen[Any]) -> int:
    """Terminate a program and all its children; kill them if they do not end in time."""
    for number in (signal.SIGTERM, getattr(signal, "SIGKILL", signal.SIGTERM)):
        _signal_group(process, number)
        try:
            return process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            continue
    process.kill()
    return process.wait()


def last_lines(log: Path, most: int = LAST_LINES) -> list[str]:
    """The end of a program's output: its error, where it has one.

    Buffered output from before the error is often written only after it.
    """
    try:
        with open(log, "rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(file.tell() - 16384, 0))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    lines = [line.rstrip() for line in text.splitlines() if line.strip()]
    begun = [i for i, line in enumerate(lines) if line.startswith("Traceback (most recent call")]
    if begun:
        error = next((i for i in range(begun[-1] + 1, len(lines)) if lines[i][0] != " "), None)
        lines = lines[: error + 1] if error is not None else lines
    return lines[-most:]


def read_outcome(launch: Launch) -> Outcome | None:
    """How this run went when it was made before; None if it was not, or did not end well."""
    try:
        document = json.loads(launch.outcome.read_text(encoding="utf-8"))
        marks = [(float(a), float(b)) for a, b in document["contention"]["marks"]]
        waited = Contention(marks, float(document["contention"]["due_to_others"]))
        if document["failure"] or document["identity"] != identity(launch):
            return None
        return Outcome(
            launch.name,
            launch.capture,
            document["code"],
            float(document["seconds"]),
            contention=waited,
            node=str(document.get("node", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def identity(launch: Launch) -> str:
    """The identity of a run: a run that was made before is not repeated.

    A digest of the command as it was typed. Masked text would confuse two runs that differ only in
    what was masked, and the text itself may hold a secret.
    """
    return _digest(
        json.dumps([launch.command.typed(), launch.command.options, launch.stop_after or ""])
    )


@lru_cache(maxsize=1024)
def _digest(text: str) -> str:
    # Slow on purpose: a short secret must not be found by brute force.
    return hashlib.pbkdf2_hmac("sha256", text.encode(), b"hotloop run", 200_000).hex()


def _failed(launch: Launch, code: int | None, begin: float, why: str) -> Outcome:
    return Outcome(
        launch.name,
        launch.capture,
        code,
        time.monotonic() - begin,
        failure=why,
        last_lines=last_lines(launch.log),
    )


def _keep(launch: Launch, outcome: Outcome) -> Outcome:
    document = {**asdict(outcome), "command": str(launch.command), "identity": identity(launch)}
    private.write_text(launch.outcome, json.dumps(document))
    return outcome


def _exit_in_words(code: int) -> str:
    if code < 0:
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            pass
    return f"failed with exit code {code}"


def _environment(command: Command) -> dict[str, str]:
    environment = {key: value for key, value in os.environ.items() if key != _SESSION}
    return {**environment, **command.environment}


#: Signals that end an experiment.
_ENDING = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def _signals_held() -> Iterator[set[int]]:
    """Hold back signals that end hotloop; yields the mask from before.

    Python loses an interrupt that arrives while it forks.
    """
    if sys.platform == "win32":
        yield set()
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING)
    try:
        yield set(before)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _own_group(mask: set[int]) -> dict[str, Any]:
    """Start a process group: Ctrl-C reaches hotloop, which then ends the whole group."""
    if sys.platform == "win32":
        return {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP}
    return {"start_new_session": True, "preexec_fn": _prepare(mask)}


def _prepare(mask: set[int]) -> Callable[[], None]:
    """Called in the new process: it gets its signals, and Linux ends it if hotloop is killed."""
    prctl = None
    if sys.platform.startswith("linux"):
        import ctypes

        prctl = ctypes.CDLL(None).prctl  # loaded here: a child between fork and exec must not

    def prepare() -> None:
        if prctl is not None:
            prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)
        signal.pthread_sigmask(signal.SIG_SETMASK, mask)

    return prepare


def _signal_group(process: subprocess.Popen[Any], number: int) -> None:
    try:
        if sys.platform == "win32":
            process.terminate()
        else:
            os.killpg(process.pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def interruptible(work: Callable[[], None]) -> bool:
    """Do the work and return whether Ctrl-C or SIGTERM interrupted it."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    in_main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGTERM)
    if in_main:
        signal.signal(signal.SIGTERM, stop)
    try:
        work()
    except KeyboardInterrupt:
        return True
    finally:
        if in_main:
            signal.signal(signal.SIGTERM, before)
    return False
