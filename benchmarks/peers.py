"""The profilers to compare, and how each is run according to its manual.

Each runs with its defaults and an output file. A peer that follows worker processes only with an
option gets that option for the program with workers. Two are not commands: torch's profiler and
timers written by hand are lines in the program (`programs/measured.py`).
"""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

#: Programs whose environments are processes of their own.
WITH_WORKERS = frozenset({"subproc_ppo"})
#: Programs that do not train on torch.
WITHOUT_TORCH = frozenset({"keras_dqn"})


@dataclass(frozen=True)
class Peer:
    """How to run a program under a profiler."""

    name: str
    #: Python's arguments before the program; `{out}` is an empty folder.
    before: tuple[str, ...] = ()
    #: The same, of a program with worker processes.
    with_workers: tuple[str, ...] = ()
    #: The comments of the program that become code.
    variant: str = ""
    #: The package that it needs.
    needs: str = ""
    #: A command of its own instead of a module of Python.
    binary: bool = False
    #: How many times as long the program trains under it, and seconds of the loop (both runs of a
    #: duel together) that are left out at the beginning.
    times: int = 1
    settles_s: float = 0.0

    def command(self, script: Path, out: Path) -> list[str]:
        """The command that runs the program under this peer."""
        before = self.with_workers if script.stem in WITH_WORKERS else ()
        words = [word.format(out=out) for word in (*(before or self.before), str(script))]
        if not self.binary:
            return [sys.executable, *words]
        at = words.index("--") + 1
        return [_binary(words[0]), *words[1:at], sys.executable, *words[at:]]

    def cannot(self, program: str) -> str:
        """Why this peer cannot measure that program here; empty where it can."""
        if self.needs and (
            shutil.which(_binary(self.needs)) is None
            if self.binary
            else find_spec(self.needs) is None
        ):
            return f"{self.needs} is not installed"
        if self.variant == "torch.profiler" and program in WITHOUT_TORCH:
            return "the program does not use torch"
        return ""


def _binary(name: str) -> str:
    return shutil.which(name, path=str(Path(sys.executable).parent)) or name


_PY_SPY = ("py-spy", "record", "--output", "{out}/a.svg")
_SCALENE = ("-m", "scalene", "run")
_MEMRAY = ("-m", "memray", "run", "--quiet", "--output", "{out}/a.bin")

PLAIN = Peer("plain")
HOTLOOP = Peer("hotloop", ("-m", "hotloop", "run", "-o", "{out}/capture"))
#: After the first half minute, shortened to some seconds.
HOTLOOP_LATER = Peer(
    "hotloop later",
    (*HOTLOOP.before, "--every-call-for", "3s"),
    times=3,
    settles_s=6.0,
)
HAND_TIMERS = Peer("hand timers", variant="timers")
#: hotloop with a reference beside it, for the accuracy; its time is not looked at.
HOTLOOP_TIMED = Peer("hotloop and timers", HOTLOOP.before, variant="timers")

PEERS = (
    HOTLOOP,
    HOTLOOP_LATER,
    Peer("py-spy", (*_PY_SPY, "--"), (*_PY_SPY, "--subprocesses", "--"), "", "py-spy", True),
    Peer("scalene", (*_SCALENE, "--outfile", "{out}/a.json"), needs="scalene"),
    Peer(
        "scalene --cpu-only",
        (*_SCALENE, "--cpu-only", "--outfile", "{out}/a.json"),
        needs="scalene",
    ),
    Peer("pyinstrument", ("-m", "pyinstrument", "--outfile", "{out}/a.txt"), needs="pyinstrument"),
    Peer("viztracer", ("-m", "viztracer", "--output_file", "{out}/a.json"), needs="viztracer"),
    Peer("cProfile", ("-m", "cProfile", "-o", "{out}/a.prof")),
    Peer("memray", _MEMRAY, (*_MEMRAY, "--follow-fork"), needs="memray"),
    Peer("torch.profiler", variant="torch.profiler"),
    HAND_TIMERS,
)
