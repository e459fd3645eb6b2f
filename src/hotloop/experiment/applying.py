"""Writes confirmed patches to the user's program (`prove --apply`), with a reverse patch."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path, PurePosixPath

from hotloop.capture import private
from hotloop.capture.proofs import CONFIRMED, Proof
from hotloop.errors import HotloopError
from hotloop.experiment.patch import FilePatch, apply_to_text, parse_patch, unified_diff

#: The patch that undoes the changes, next to the proof; later ones get a number.
REVERSE = "reverse.patch"


def confirmed_diffs(proof: Proof) -> list[str]:
    """The patches that were confirmed, each once."""
    found = [each.diff for each in proof.tried if each.verdict == CONFIRMED and each.diff]
    return list(dict.fromkeys(found))


def check_together(proof: Proof, diffs: list[str]) -> None:
    """Allow several patches only if they were also confirmed together."""
    if len(diffs) < 2 or (proof.together is not None and proof.together.verdict == CONFIRMED):
        return
    result = proof.together.verdict if proof.together is not None else "not measured"
    raise HotloopError(
        f"each of the {len(diffs)} patches was confirmed, but together they are {result}; --force "
        "writes all of them, or apply one of the diffs yourself"
    )


def apply_patches(
    program: Path, diffs: list[str], keep: Path, force: bool = False
) -> tuple[list[str], Path]:
    """Write the patches to the program's files; return their names and the reverse patch.

    All of them or none: every file is read and patched before the first is written, and the
    reverse patch is on disk before that.
    """
    before: dict[str, str] = {}
    after: dict[str, str] = {}
    for diff in diffs:
        for file in parse_patch("the confirmed patch", diff):
            name = _name(program, file)
            if name not in before:
                before[name] = after[name] = _read(program / name)
            after[name] = apply_to_text(name, after[name], file.hunks)
    if not force:
        _refuse_uncommitted(program, list(before))
    reverse = _keep_reverse(keep, before, after)
    _write_all(program, before, after)
    return list(before), reverse


def _name(program: Path, file: FilePatch) -> str:
    if file.before is None or file.before != file.after:
        raise HotloopError("a confirmed patch adds or removes a file; apply it yourself")
    name = PurePosixPath(file.before)
    if name.is_absolute() or Path(file.before).is_absolute() or ".." in name.parts:
        raise HotloopError(f"{name}: outside the program's folder")
    if (program / name).resolve() != program.resolve() / name:
        raise HotloopError(f"{name}: a symbolic link; apply the patch yourself")
    return file.before


def _read(path: Path) -> str:
    try:
        with open(path, encoding="utf-8", newline="") as file:  # line endings as they are
            return file.read()
    except (OSError, UnicodeDecodeError) as error:
        raise HotloopError(f"{path}: cannot be read ({error})") from None


def _refuse_uncommitted(program: Path, names: list[str]) -> None:
    """Refuse to overwrite files that git cannot restore."""
    status = _git(program, "status", "--porcelain", "--", *names)
    if status is None or status.returncode != 0:
        raise HotloopError(f"{program} is not under git; use --force to write the changes anyway")
    for name in names:
        tracked = _git(program, "ls-files", "--error-unmatch", "--", name)
        if tracked is None or tracked.returncode != 0:
            raise HotloopError(f"{name}: git does not track it; add it, or use --force")
    if status.stdout.strip():
        changed = ", ".join(line[3:] for line in status.stdout.splitlines())
        raise HotloopError(f"{changed}: uncommitted changes; commit them, or use --force")


def _git(program: Path, *words: str) -> subprocess.CompletedProcess[str] | None:
    try:
        return subprocess.run(
            ["git", "--literal-pathspecs", *words],
            cwd=program, capture_output=True, text=True, timeout=60, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None


def _keep_reverse(keep: Path, before: dict[str, str], after: dict[str, str]) -> Path:
    text = "".join(unified_diff(name, after[name], before[name]) for name in before)
    private.make_folder(keep, exist_ok=True)
    path, number = keep / REVERSE, 2
    while path.exists():
        path, number = keep / f"reverse-{number}.patch", number + 1
    with open(path, "x", encoding="utf-8", newline="", opener=private.opener) as file:
        file.write(text)
    return path


def _write_all(program: Path, before: dict[str, str], after: dict[str, str]) -> None:
    """Replace all files or none: each is complete on disk before the first is replaced."""
    ready: list[str] = []
    replaced: list[str] = []
    try:
        for name, text in after.items():
            ready.append(name)
            _write_beside(program / name, text)
        for name in after:
            os.replace(_beside(program / name), program / name)
            replaced.append(name)
    except OSError as error:
        for name in replaced:
            _write_beside(program / name, before[name])
            os.replace(_beside(program / name), program / name)
        raise HotloopError(f"nothing was changed: {error}") from None
    finally:
        for name in ready:
            _beside(program / name).unlink(missing_ok=True)


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.hotloop")


def _write_beside(path: Path, text: str) -> None:
    with open(_beside(path), "w", encoding="utf-8", newline="") as file:
        file.write(text)
    shutil.copymode(path, _beside(path))
