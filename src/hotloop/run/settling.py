"""Where a capture lies while its program runs, and its move to `runs/hotloop` at the end.

A program may create, list or delete `runs` itself: `os.mkdir("runs")` fails where hotloop has made
that folder, and `shutil.rmtree("runs")` deletes a capture in it. So a capture moves there once the
program has ended. Until then it lies in the user's state folder; where that is on another file
system, as in a container whose own files vanish with it, in `.hotloop` in the working folder. What
a killed run leaves there is moved by the next command in the same working folder (`collect`).
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Callable, Iterator

# Not as attributes of `os`, which the program may have replaced by its end.
from os import mkdir, rename, rmdir, symlink
from pathlib import Path

from hotloop.capture.private import FOLDER_MODE
from hotloop.capture.private import make_folder as make_private_folder
from hotloop.errors import HotloopError

#: In the working folder.
HIDDEN = ".hotloop"
#: In the user's state folder: one folder for each working folder.
STATE = "hotloop/running"
#: Letters of the working folder's name in that of its folder.
_LONGEST_NAME = 40
#: After this, a link to a capture's new place has no process left that needs it.
_OLD_S = 86_400.0


def make_for_a_run(places: list[Path]) -> tuple[Path, Path]:
    """(folder of a new capture, its place after the run): the first of `places` that is free."""
    here = places[0].parents[2]
    error: OSError | None = None
    for base in running_folders(here):
        _sweep(base)
        for place in places:
            if place.exists():
                continue
            try:
                _make_parents(base)
                make_private_folder(base / place.name)
            except FileExistsError:
                continue
            except OSError as raised:
                error = error or raised
                break
            return base / place.name, place
    reason = error.strerror if error is not None else "already exists"
    raise HotloopError(f"{places[0]}: cannot be created ({reason}); choose a folder with -o")


def running_folders(here: Path) -> list[Path]:
    """Where captures of programs lie that run in the working folder `here`, the preferred first."""
    name = re.sub(r"[^A-Za-z0-9_.-]+", "-", here.name)[:_LONGEST_NAME].strip("-.") or "folder"
    digest = hashlib.sha256(os.fsencode(here)).hexdigest()[:12]
    state = _state_folder() / STATE / f"{name}-{digest}"
    on_this_disk = _device(state) == _device(here) or not here.exists()
    return [state, here / HIDDEN] if on_this_disk else [here / HIDDEN, state]


def settle(folder: Path, place: Path) -> Path:
    """Move a capture to its place, or to the next free name; return where it is then.

    Where that is impossible (the program has made a file called `runs`), it stays.
    """
    free = next(_free(place))
    try:
        _make_parents(free.parent)
        rename(folder, free)
    except OSError:
        return place if not folder.exists() else folder.resolve()
    try:
        if folder.parent.name == HIDDEN:
            rmdir(folder.parent)
        else:  # a process that outlives the run still writes
            symlink(free, folder)
    except OSError:
        pass
    return free


def collect(here: Path, base: Path, has_ended: Callable[[Path], bool]) -> list[Path]:
    """Move what killed runs have left to `base`; return the captures of runs in progress."""
    running = []
    for folder in running_folders(here):
        for capture in _captures_in(folder):
            if has_ended(capture):
                capture = settle(capture, base / capture.name)
                if capture.parent == base:
                    continue
            running.append(capture)
    return running


def _state_folder() -> Path:
    named = os.environ.get("XDG_STATE_HOME") or ""
    if os.path.isabs(named):
        return Path(named)
    try:
        return Path.home() / ".local" / "state"
    except RuntimeError:  # no home
        return Path(os.sep, "nowhere")


def _device(path: Path) -> int | None:
    """The file system that a path is on, or would be."""
    for each in (path, *path.parents):
        try:
            return each.stat().st_dev
        except OSError:
            continue
    return None


def _make_parents(folder: Path) -> None:
    if not folder.is_dir():
        _make_parents(folder.parent)
        is_ours = folder.name == HIDDEN or folder.parent.name == "running"
        try:
            mkdir(folder, FOLDER_MODE if is_ours else 0o777)
        except FileExistsError:
            pass


def _free(place: Path) -> Iterator[Path]:
    number = 2
    free = place
    while True:
        if not os.path.lexists(free):
            yield free
        free = place.with_name(f"{place.name}-{number}")
        number += 1


def _captures_in(folder: Path) -> list[Path]:
    try:
        return [each for each in folder.iterdir() if each.is_dir() and not each.is_symlink()]
    except OSError:
        return []


def _sweep(folder: Path) -> None:
    """Remove old links, and folders that runs left empty which were killed as they began."""
    try:
        entries = list(folder.iterdir())
    except OSError:
        return
    for entry in entries:
        try:
            if time.time() - entry.lstat().st_mtime > _OLD_S:
                (entry.unlink if entry.is_symlink() else entry.rmdir)()
        except OSError:
            pass  # it is not empty, or somebody else's
