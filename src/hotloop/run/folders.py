"""Where captures go: a new private folder for each run, never one that exists."""

from __future__ import annotations

import re
import shlex
import time
from pathlib import Path

from hotloop.capture.private import make_folder as make_private_folder
from hotloop.errors import HotloopError

#: Below this folder, seen from where the command is typed.
BASE = Path("runs/hotloop")
#: Letters of a capture's name; no file system takes more than 255.
LONGEST_NAME = 80
#: Runs of one program that may begin within the same second.
_MOST_PER_SECOND = 1000


def make_folder(output: str | None, label: str) -> Path:
    """The folder of a capture, made now: `output`, or one named after the program and the time."""
    try:
        candidates = [Path(output).absolute()] if output is not None else _names(label)
    except FileNotFoundError:
        raise HotloopError(
            "the working folder is gone; name a folder elsewhere with -o /path/to/capture"
        ) from None
    for candidate in candidates:
        try:
            make_private_folder(candidate)
        except FileExistsError:
            if output is not None:
                raise HotloopError(
                    f"{output}: already exists, and a capture is never overwritten; choose another"
                ) from None
        except OSError as error:
            raise HotloopError(
                f"{candidate}: cannot be created ({error.strerror}); choose a folder with -o"
            ) from None
        else:
            return candidate
    raise HotloopError(f"{candidates[0]}: already exists; choose a folder with -o")


def make_or_join(output: str, label: str) -> tuple[Path, bool]:
    """(the folder `output`, whether another machine has made it): the first machine makes it."""
    try:
        return make_folder(output, label), False
    except HotloopError:
        if not Path(output).is_dir():
            raise
        return Path(output).absolute(), True


def _names(label: str) -> list[Path]:
    stem = re.sub(r"[^A-Za-z0-9_.-]+", "-", label)[:LONGEST_NAME].strip("-.") or "program"
    name = f"{stem}-{time.strftime('%Y%m%d-%H%M%S')}"
    base = BASE.absolute()
    return [base / name, *(base / f"{name}-{n}" for n in range(2, _MOST_PER_SECOND))]


def as_typed(path: Path) -> str:
    """A path as one would type it from here."""
    try:
        path = path.relative_to(Path.cwd())
    except (ValueError, OSError):
        pass
    return shlex.quote(str(path))
