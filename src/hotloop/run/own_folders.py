"""Lets the program create the folder `runs`, which exists only because of its capture.

`os.mkdir("runs")` would fail because hotloop has just created that folder. So if hotloop created a
folder and it contains nothing else, the program's call succeeds, and a second one fails as usual.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any

from hotloop.measure.core import Core, native_parts
from hotloop.measure.unpatched import listdir


def missing(folder: Path) -> list[Path]:
    """The folder and its parents that do not exist yet."""
    try:
        whole = folder.absolute()
    except FileNotFoundError:  # the working folder is gone
        return []
    return [each for each in (whole, *whole.parents) if not each.exists()]


def share(core: Core, made: Collection[Path]) -> Callable[[], object]:
    """Let the program make these folders of hotloop's; returns what ends that."""
    from hotloop.hooks.redirect import redirect

    if native_parts(core) is None:
        return lambda: None  # the program would see another `os.mkdir`
    own = {_identity(path) for path in made} - {None}
    names = {path.name for path in made}

    def is_untouched(path: Any) -> bool:
        try:
            return _identity(path) in own and names.issuperset(map(os.fsdecode, listdir(path)))
        except OSError:
            return False

    def forgiving(mkdir: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(mkdir)
        def make(*args: Any, **kwargs: Any) -> None:
            try:
                mkdir(*args, **kwargs)
            except FileExistsError:
                path = args[0] if args else kwargs.get("path")
                if kwargs.get("dir_fd") is not None or not is_untouched(path):
                    raise
                own.discard(_identity(path))

        return make

    return redirect(core, os, "mkdir", forgiving)


def _identity(path: Any) -> tuple[int, int] | None:
    try:
        found = os.stat(path)
    except (OSError, TypeError, ValueError):
        return None
    return found.st_dev, found.st_ino
