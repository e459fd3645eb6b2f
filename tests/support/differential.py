"""Runs a program plain and under `hotloop run`, and lists every difference that its user could see.

A program is one file. Comments in its head say how it is run:

    # send: SIGTERM            this signal, once the program has created the file `ready`
    # python: -W error         options of the interpreter
    # hotloop: --stop-after 5s options of `hotloop run`
    # stdin: one|two           lines of standard input
    # env: NAME=value          a variable
    # file: name.py TEXT       a file in the working folder
    # needs: torch             skipped where this cannot be imported
    # frames: all              skipped where hotloop's own frames cannot be hidden
    # shares: torch            one process runs all programs that say this, one after another
    # capture: default         without `-o`; `runs/hotloop` does not count as a file
    # compare: code            only the exit code has to be the same
    # full: why                only in the full form
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import uuid
from dataclasses import dataclass, field
from pathlib import Path

#: A program takes a second or two; one that hangs is a difference, too.
TIMEOUT_S = 60.0
#: How long processes that end with the program may take to disappear.
GRACE_S = 5.0

#: Where a capture lies without `-o`, once the program has ended.
_CAPTURES = ("runs", "hotloop")

#: What users type; unlike `python -m hotloop`, it is a script that Python runs.
_SCRIPT = Path(sys.executable).with_name("hotloop")
_HOTLOOP = [str(_SCRIPT)] if _SCRIPT.exists() else ["-m", "hotloop"]

_OPTION = re.compile(r"^# (\w+): (.*)$", re.MULTILINE)
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")


@dataclass(frozen=True)
class Program:
    path: Path
    options: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.path.stem


def read_program(path: Path) -> Program:
    head = path.read_text().split("\nimport ", 1)[0].split("\nfrom ", 1)[0]
    return Program(path, dict(_OPTION.findall(head)))


@dataclass(frozen=True)
class Outcome:
    """What a run left. `code` is negative for the signal that ended it, None after the timeout."""

    code: int | None
    output: str
    errors: str
    files: dict[str, tuple[int, bytes]]
    processes: list[str]


def run_program(
    program: Program, folder: Path, *, under_hotloop: bool, arguments: list[str]
) -> Outcome:
    work = folder / ("hotloop" if under_hotloop else "plain") / "work"
    work.mkdir(parents=True)
    options = program.options
    if "file" in options:
        name, _, text = options["file"].partition(" ")
        (work / name).write_text(text + "\n")
    mark = uuid.uuid4().hex
    environment = dict(os.environ, PYTHONHASHSEED="0", OMP_NUM_THREADS="1", DIFFERENTIAL=mark)
    environment.pop("PYTHONUNBUFFERED", None)
    if "env" in options:
        name, _, text = options["env"].partition("=")
        environment[name] = text
    command = [sys.executable, *options.get("python", "").split()]
    if under_hotloop:
        command += [*_HOTLOOP, "run", "-q"]
        if options.get("capture") != "default":
            command += ["-o", str(folder / "capture")]
        command += options.get("hotloop", "").split()
    command += [str(program.path), *arguments]
    with (folder / "output").open("w+b") as output, (folder / "errors").open("w+b") as errors:
        process = subprocess.Popen(
            command, cwd=work, env=environment, stdin=subprocess.PIPE, stdout=output,
            stderr=errors, start_new_session=True,
        )  # fmt: skip
        code = _wait(process, work, options)
        processes = _remaining(mark)
        output.seek(0)
        errors.seek(0)
        return Outcome(code, _clean(output.read()), _clean(errors.read()), _files(work), processes)


def _wait(process: subprocess.Popen[bytes], work: Path, options: dict[str, str]) -> int | None:
    assert process.stdin is not None
    try:
        process.stdin.write(options.get("stdin", "").replace("|", "\n").encode())
        process.stdin.close()
    except BrokenPipeError:
        pass
    if "send" in options:
        end = time.monotonic() + TIMEOUT_S
        while not (work / "ready").exists() and process.poll() is None and time.monotonic() < end:
            time.sleep(0.02)
        # Into the sleep or the native call that follows.
        time.sleep(0.3)
        process.send_signal(getattr(signal, options["send"]))
    try:
        return process.wait(TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return None


def _clean(text: bytes) -> str:
    return _ADDRESS.sub("0x…", text.decode(errors="replace"))


def _files(work: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(work)): (path.stat().st_mode, path.read_bytes() if path.is_file() else b"")
        for path in sorted(work.rglob("*"))
        if "__pycache__" not in path.parts and path.relative_to(work).parts[:2] != _CAPTURES
    }  # fmt: skip


def _remaining(mark: str) -> list[str]:
    """Processes of this run that stay, after some time to end; they are ended here."""
    end = time.monotonic() + GRACE_S
    while (left := _marked(mark)) and time.monotonic() < end:
        time.sleep(0.05)
    for process in left:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            pass
    return ["process"] * len(left)


def _marked(mark: str) -> list[int]:
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            if f"DIFFERENTIAL={mark}".encode() in (folder / "environ").read_bytes():
                found.append(int(folder.name))
        except OSError:
            continue
    return found


def differences(plain: Outcome, hotloop: Outcome, *, code_only: bool = False) -> list[str]:
    """One line for everything that is not the same."""
    pairs = {"exit code": (plain.code, hotloop.code)}
    if not code_only:
        pairs |= {
            "standard output": (plain.output, hotloop.output),
            "standard error": (plain.errors, hotloop.errors),
            "files": (plain.files, hotloop.files),
            "remaining processes": (plain.processes, hotloop.processes),
        }  # type: ignore[dict-item]
    return [
        f"{what}:\n  plain   {one!r}\n  hotloop {other!r}"
        for what, (one, other) in pairs.items()
        if one != other
    ]


def run_both(program: Program, folder: Path, arguments: list[str]) -> tuple[Outcome, Outcome]:
    """The outcome without hotloop, and with it."""
    plain = _in(folder / "a", program, arguments, under_hotloop=False)
    assert plain.code is not None, f"{program.name} hangs without hotloop"
    return plain, _in(folder / "b", program, arguments, under_hotloop=True)


def _in(folder: Path, program: Program, arguments: list[str], *, under_hotloop: bool) -> Outcome:
    folder.mkdir()
    return run_program(program, folder, under_hotloop=under_hotloop, arguments=arguments)
