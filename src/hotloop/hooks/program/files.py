"""Whether a file belongs to the program, a library, Python or hotloop.

An installed package is a library, unless it is the program: `python -m package.train`, or the
command that it installs.
"""

from __future__ import annotations

import functools
import os
import re
import site
import sys
import sysconfig
from pathlib import Path

from hotloop.hooks import LIBRARIES

_OWN_FOLDER = str(Path(__file__).resolve().parents[2]) + os.sep


def _library_folders() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += getattr(site, "getsitepackages", list)()
    return tuple({os.path.realpath(path) + os.sep for path in paths if path})


_LIBRARY_FOLDERS = _library_folders()
#: Where packages install their commands.
_COMMANDS = sysconfig.get_path("scripts")
#: Such a command is a few lines.
_ENTRY_POINT_LENGTH = 1000


_INSTALLED = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")
#: What a command that a package installs imports from it.
_ENTRY_POINT = re.compile(r"^from ([A-Za-z_]\w*)[\w.]* import ", re.MULTILINE)


def is_program_file(file: str | None) -> bool:
    """Whether a file is the program's own, not a library's, Python's or hotloop's."""
    return _is_program_file(file, own_package())


def own_package() -> str:
    """The installed package (its folder, or its file) that is the program, or nothing."""
    attributes = vars(sys.modules["__main__"]) if "__main__" in sys.modules else {}
    name = getattr(attributes.get("__spec__"), "name", None)
    file = attributes.get("__file__")
    if not isinstance(name, str):
        name = _imported_by(file) if isinstance(file, str) else ""
    return _installed(name.partition(".")[0], file) if name else ""


@functools.lru_cache(maxsize=4096)  # links on the way to a file are followed
def _is_program_file(file: str | None, own: str) -> bool:
    if not file or file.startswith("<"):
        return False
    if own and file.startswith(own):
        return True
    return not _is_library(file) and not _is_library(os.path.realpath(file))


def _is_library(path: str) -> bool:
    return path.startswith((_OWN_FOLDER, *_LIBRARY_FOLDERS)) or any(p in path for p in _INSTALLED)


@functools.lru_cache(maxsize=16)
def _imported_by(script: str) -> str:
    """The package of a command that was installed with it."""
    if os.path.dirname(os.path.realpath(script)) != os.path.realpath(_COMMANDS):
        return ""
    try:
        found = _ENTRY_POINT.search(Path(script).read_text(encoding="utf-8")[:_ENTRY_POINT_LENGTH])
    except (OSError, UnicodeDecodeError):
        return ""
    return found.group(1) if found else ""


def _installed(package: str, file: object) -> str:
    """Where an installed package is; empty for one of a library that hotloop knows, a launcher."""
    if any(package == waker.partition(".")[0] for wakers in LIBRARIES.values() for waker in wakers):
        return ""
    module = sys.modules.get(package)
    folders = list(vars(module).get("__path__", ())) if module is not None else []
    place = f"{folders[0]}{os.sep}" if folders else file
    if not isinstance(place, str) or place.startswith(_OWN_FOLDER):
        return ""
    return place if any(part in place for part in _INSTALLED) else ""
