"""A patch tried without touching the program: it is put on a copy that runs in the program's place.

The copy holds all Python files of the folder; everything else in it is a link to the original, so
that data is not copied. Patches are unified diffs, as `git diff` and `diff -u` write them.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from hotloop.errors import HotloopError

#: A folder with more files than this is not one program; copying it would take minutes.
MOST_FILES = 20_000
#: Folders that a program does not import from.
LEFT_OUT = {".git", ".hg", ".svn", "__pycache__", "node_modules", ".tox", ".mypy_cache", "runs"}

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass
class Hunk:
    """Lines that are there, and what stands in their place afterwards."""

    start: int
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass
class FilePatch:
    """What a patch does to one file; `before` is None for a new one, `after` for a removed one."""

    before: str | None
    after: str | None
    hunks: list[Hunk] = field(default_factory=list)


def parse_patch(name: str, text: str) -> list[FilePatch]:
    """The files of a unified diff."""
    files: list[FilePatch] = []
    lines = text.splitlines()
    index = 0
    while index < len(lines):
        line = lines[index]
        if line.startswith("--- ") and index + 1 < len(lines) and lines[index + 1][:4] == "+++ ":
            files.append(FilePatch(_path(line), _path(lines[index + 1])))
            index += 2
        elif (match := _HUNK.match(line)) and files:
            hunk, index = _hunk(name, lines, index, match)
            files[-1].hunks.append(hunk)
        else:
            index += 1
    if not files or not all(file.hunks for file in files):
        raise HotloopError(f"{name}: not a patch (a unified diff, as `git diff` writes it)")
    return files


def _path(line: str) -> str | None:
    name = line[4:].split("\t")[0].strip().strip('"')
    if name == "/dev/null":
        return None
    return name.partition("/")[2] if name.startswith(("a/", "b/")) else name


def _hunk(name: str, lines: list[str], index: int, match: re.Match[str]) -> tuple[Hunk, int]:
    hunk = Hunk(int(match[1]))
    wanted = int(match[2] or 1), int(match[4] or 1)
    index += 1
    while (len(hunk.before), len(hunk.after)) != wanted:
        if index >= len(lines):
            raise HotloopError(f"{name}: the patch is cut off")
        line = lines[index]
        sign, rest = (line[:1] or " "), line[1:]
        if sign in (" ", "-"):
            hunk.before.append(rest)
        if sign in (" ", "+"):
            hunk.after.append(rest)
        if sign not in " -+\\":
            raise HotloopError(f"{name}: line {index + 1} does not belong into a patch")
        index += 1
    return hunk, index


def apply_to_text(name: str, text: str, hunks: list[Hunk]) -> str:
    """A file's text after the hunks; lines may have moved, but must be there."""
    lines = text.splitlines()
    moved = 0
    for hunk in hunks:
        at = _find(lines, hunk.before, max(hunk.start - 1, 0) + moved)
        if at is None:
            raise HotloopError(
                f"the patch does not fit {name}: the lines at {hunk.start} are not as it expects"
            )
        lines[at : at + len(hunk.before)] = hunk.after
        moved = at - max(hunk.start - 1, 0) + len(hunk.after) - len(hunk.before)
    return "\n".join(lines) + "\n"


def _find(lines: list[str], wanted: list[str], near: int) -> int | None:
    """Where these lines are, nearest to where they should be."""
    places = range(len(lines) - len(wanted) + 1)
    for at in sorted(places, key=lambda place: abs(place - near)):
        if lines[at : at + len(wanted)] == wanted:
            return at
    return None


def patched_copy(program: Path, patches: list[Path], target: Path) -> Path:
    """A copy of the program's folder with the patches on; it is made anew each time."""
    if target.exists():
        shutil.rmtree(target)
    _shadow(program, target)
    for patch in patches:
        try:
            text = patch.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise HotloopError(f"{patch}: cannot be read ({error})") from None
        for file in parse_patch(str(patch), text):
            _apply(target, file, str(patch))
    return target


def _apply(target: Path, file: FilePatch, patch: str) -> None:
    name = file.after or file.before or ""
    if PurePosixPath(name).is_absolute() or ".." in PurePosixPath(name).parts:
        raise HotloopError(f"{patch}: {name} is outside the program's folder")
    path = target / name
    if file.before is None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(apply_to_text(name, "", file.hunks), encoding="utf-8")
        return
    if not path.is_file():
        raise HotloopError(f"{patch}: there is no {name} in the program's folder")
    if file.after is None:
        path.unlink()
        return
    text = apply_to_text(name, path.read_text(encoding="utf-8"), file.hunks)
    if path.is_symlink():
        path.unlink()
    path.write_text(text, encoding="utf-8")


def _shadow(program: Path, target: Path) -> None:
    count = 0
    for folder, folders, files in os.walk(program):
        here = Path(folder)
        folders[:] = [name for name in folders if _is_wanted(here / name, target)]
        copy = target / here.relative_to(program)
        copy.mkdir(parents=True, exist_ok=True)
        count += len(files)
        if count > MOST_FILES:
            raise HotloopError(
                f"{program} holds more than {MOST_FILES:,} files; run from the program's own folder"
            )
        for name in files:
            _put(here / name, copy / name)


def _is_wanted(folder: Path, target: Path) -> bool:
    is_environment = (folder / "pyvenv.cfg").exists()
    return folder.name not in LEFT_OUT and not is_environment and folder != target


def _put(source: Path, target: Path) -> None:
    # Python looks for imports beside the file that a link points to: what is imported is copied.
    if source.suffix in (".py", ".pyi", ".so", ".pyd"):
        shutil.copy2(source, target)
        return
    try:
        target.symlink_to(source.absolute())
    except OSError:  # Windows without the right to make links
        shutil.copy2(source, target)
