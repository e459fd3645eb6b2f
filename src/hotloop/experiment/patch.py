"""Tries a patch without touching the program: applies it to a copy and runs the copy.

The copy contains all Python files of the folder; everything else in it links to the original, so
that data is not copied. A patch never writes through such a link. `copy_folder` makes a copy to run
in, where only files too large to copy are links. Patches are unified diffs, as
`git diff` and `diff -u` write them.
"""

from __future__ import annotations

import difflib
import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from hotloop.errors import HotloopError

#: A folder with more files than this is not one program; copying it would take minutes.
MOST_FILES = 20_000
#: Files above this are linked even where the program may write: data sets, not checkpoints.
LARGE_BYTES = 256 * 1024 * 1024
#: More than this in files that are copied takes longer than the runs.
MOST_BYTES = 4 * 1024**3
#: A linked folder with more files than this is data: it stays a link.
MOST_LINKED_FILES = 2_000
#: Folders that a program does not import from.
LEFT_OUT = {".git", ".hg", ".svn", "__pycache__", "node_modules", ".tox", ".mypy_cache", "runs"}

_HUNK = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")


@dataclass
class Hunk:
    """Lines of a file, and the lines that replace them."""

    start: int
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)


@dataclass
class FilePatch:
    """The change of one file by a patch; `before` is None if it is new, `after` if removed."""

    before: str | None
    after: str | None
    hunks: list[Hunk] = field(default_factory=list)


def parse_patch(name: str, text: str) -> list[FilePatch]:
    """The files of a unified diff."""
    files: list[FilePatch] = []
    lines = _lines(text)
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


def _lines(text: str) -> list[str]:
    """Lines as Python and git count them: a form feed does not end one."""
    return [line.removesuffix("\r") for line in text.split("\n")]


def unified_diff(name: str, before: str, after: str) -> str:
    """The diff from one text of a file to another, for `git apply`; empty if they are equal."""
    sides = ([f"{line}\n" for line in text.split("\n")] for text in (before, after))
    old, new = ([*lines[:-1], *filter(None, [lines[-1][:-1]])] for lines in sides)
    lines = difflib.unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(
        line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines
    )


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
            raise HotloopError(f"{name}: line {index + 1} does not belong in a patch")
        index += 1
    return hunk, index


def apply_to_text(name: str, text: str, hunks: list[Hunk]) -> str:
    """A file's text after the hunks; lines may have moved, but must be there.

    Other lines keep their line endings, and new ones get those of the file.
    """
    lines = text.split("\n")
    ending = "\r" if text.count("\r\n") * 2 > text.count("\n") else ""
    moved = 0
    for hunk in hunks:
        # Without lines before, the hunk comes after the line that it names.
        start = hunk.start - 1 if hunk.before else hunk.start
        at = _find([line.removesuffix("\r") for line in lines], hunk.before, max(start, 0) + moved)
        if at is None:
            raise HotloopError(
                f"the patch does not fit {name}: the lines at {hunk.start} are not as it expects"
            )
        end = at + len(hunk.before)
        lines[at:end] = _changed(hunk, lines[at:end], ending)
        moved = at - max(start, 0) + len(hunk.after) - len(hunk.before)
    return "\n".join(lines)


def _changed(hunk: Hunk, own: list[str], ending: str) -> list[str]:
    """The lines of a hunk afterwards: unchanged ones as the file has them."""
    result: list[str] = []
    matcher = difflib.SequenceMatcher(None, hunk.before, hunk.after, autojunk=False)
    for kind, first, last, start, stop in matcher.get_opcodes():
        if kind == "equal":
            result += own[first:last]
        else:
            result += [line + ending for line in hunk.after[start:stop]]
    return result


def _find(lines: list[str], wanted: list[str], near: int) -> int | None:
    """The position of these lines that is nearest to the expected one."""
    starts = range(len(lines) - len(wanted) + 1)
    for at in sorted(starts, key=lambda start: abs(start - near)):
        if lines[at : at + len(wanted)] == wanted:
            return at
    return None


def patched_copy(program: Path, patches: list[Path], target: Path) -> Path:
    """A fresh copy of the program's folder with the patches applied."""
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
    path = _own_path(target, PurePosixPath(name))
    if file.before is not None and not path.is_file():
        raise HotloopError(f"{patch}: there is no {name} in the program's folder")
    before = path.read_bytes().decode() if file.before is not None else ""
    # A link points to the user's own file: it is replaced, never written through.
    path.unlink(missing_ok=True)
    if file.after is not None:
        path.write_bytes(apply_to_text(name, before, file.hunks).encode())


def _own_path(target: Path, name: PurePosixPath) -> Path:
    """A path in the copy without links in it: linked folders are copied first."""
    folder = target
    for part in name.parts[:-1]:
        folder /= part
        if folder.is_symlink():
            original = folder.resolve()
            folder.unlink()
            _shadow(original, folder)
        folder.mkdir(exist_ok=True)
    return folder / name.name


def copy_folder(program: Path, target: Path) -> Path:
    """A copy in which a program may write: links only to what is too large to copy."""
    if target.exists():
        shutil.rmtree(target)
    _shadow(program, target, copies=_is_small)
    return target


def linked_in_copy(program: Path) -> list[Path]:
    """Files that a copy of the program's folder only links to: runs use the real ones."""
    found: list[Path] = []
    count = 0
    for folder, folders, files in os.walk(program):
        here = Path(folder)
        count += len(files)
        if count > MOST_FILES:
            break  # the folder is too large to copy
        folders[:] = [name for name in folders if _is_wanted(here / name, None)]
        links = [here / name for name in folders if (here / name).is_symlink()]
        found += [link for link in links if not _is_small_folder(link)]
        paths = [here / name for name in files]
        found += [path for path in paths if path.exists() and not _is_small(path)]
    return found


def _is_imported(source: Path) -> bool:
    # Python looks for imports beside the file that a link points to: what is imported is copied.
    return source.suffix in (".py", ".pyi", ".so", ".pyd")


def _is_small(source: Path) -> bool:
    return _is_imported(source) or source.stat().st_size <= LARGE_BYTES


def _is_small_folder(link: Path) -> bool:
    """Whether a linked folder can be copied; one with links in it may have no end."""
    size = count = 0
    if link.resolve() in link.absolute().parents:
        return False
    for folder, folders, files in os.walk(link):
        if any(os.path.islink(os.path.join(folder, name)) for name in folders):
            return False
        count += len(files)
        size += sum(os.lstat(os.path.join(folder, name)).st_size for name in files)
        if size > LARGE_BYTES or count > MOST_LINKED_FILES:
            return False
    return True


def _shadow(program: Path, target: Path, copies: Callable[[Path], bool] = _is_imported) -> None:
    count = size = 0
    for folder, folders, files in os.walk(program):
        here = Path(folder)
        folders[:] = [name for name in folders if _is_wanted(here / name, target)]
        copy = target / here.relative_to(program)
        copy.mkdir(parents=True, exist_ok=True)
        for name in folders:
            if (here / name).is_symlink():  # not walked into
                _put_folder(here / name, copy / name, copies)
        count += len(files)
        paths = [here / name for name in files if (here / name).exists()]  # no dangling links
        size += sum(path.stat().st_size for path in paths if copies(path))
        _check_amount(program, count, size)
        for path in paths:
            _put(path, copy / path.name, copies)


def _check_amount(program: Path, count: int, size: int) -> None:
    what = f"more than {MOST_FILES:,} files" if count > MOST_FILES else ""
    if size > MOST_BYTES:
        what = f"more than {MOST_BYTES // 1024**3} GB of files below {LARGE_BYTES // 1024**2} MB"
    if what:
        raise HotloopError(
            f"{program} holds {what}, too much to copy for each run; run from the program's own "
            "folder, or move its data elsewhere"
        )


def _is_wanted(folder: Path, target: Path | None) -> bool:
    is_environment = (folder / "pyvenv.cfg").exists()
    is_target = target is not None and target.exists() and folder.samefile(target)
    return folder.name not in LEFT_OUT and not is_environment and not is_target


def _put_folder(link: Path, target: Path, copies: Callable[[Path], bool]) -> None:
    if copies is _is_small and _is_small_folder(link):
        _shadow(link.resolve(), target, copies)
    else:
        _link(link, target)


def _put(source: Path, target: Path, copies: Callable[[Path], bool]) -> None:
    if copies(source):
        shutil.copy2(source, target)
    else:
        _link(source, target)


def _link(source: Path, target: Path) -> None:
    try:
        target.symlink_to(source.resolve())
    except OSError:  # no permission to make links (Windows)
        copy = shutil.copytree if source.is_dir() else shutil.copy2
        copy(source, target)
