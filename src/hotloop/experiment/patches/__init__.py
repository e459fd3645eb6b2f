"""Fixes in the program's own source: a patch for each cause whose shape is mechanical.

A patch is written for the lines that a finding names, as a unified diff of the user's code; other
characters stay as they are. Where the code has another shape there is no patch. Every patch is
tried on a copy, and its weights are compared with the original's, before it is confirmed.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import Finding
from hotloop.experiment.fixes import CHANGES, DRAWS, IF_UNCHANGED, ROUNDING, Fix
from hotloop.experiment.patches import calls, loops, tables, targets
from hotloop.experiment.patches.source import Edit, Source

__all__ = ["source_fixes"]

#: Folders of installed packages, wherever they are.
LIBRARIES = {"site-packages", "dist-packages", "node_modules"}

Shape = Callable[[Source, int], list[Edit]]

#: Finding -> what its patch is called, what writes it, and what it may do to learning.
SHAPES: dict[str, list[tuple[str, Shape, str]]] = {
    "missing-no-grad": [("torch.no_grad", calls.no_grad, "")],
    "list-to-tensor": [("one array", calls.one_array, "")],
    "predict-in-loop": [("model(x) for predict", calls.model_call, ROUNDING)],
    "deepcopy-in-step": [("shallow copy", calls.shallow_copy, IF_UNCHANGED)],
    "image-resize": [("box filter", calls.fast_resize, CHANGES)],
    "data-loading": [("pandas' own rolling method", calls.rolling_method, ROUNDING)],
    "graph-retained": [("detach", calls.detached, CHANGES)],
    "python-gae": [("all environments at once", loops.all_environments, ROUNDING)],
    "naive-priority-sampling": [
        ("searchsorted", loops.cumulative_search, ""),
        ("one cumulative sum", loops.weighted_draws, DRAWS),
    ],
    "target-update-loop": [("foreach target update", targets.foreach_target, ROUNDING)],
    "update-ratio": [("1/4 of the updates", loops.fewer_updates, CHANGES)],
    "per-sample-update": [("one batch", loops.whole_batch, CHANGES)],
    "pandas-in-step": [("arrays for rows", tables.arrays_for_rows, "")],
    "slow-reset": [("kept results", tables.kept_results, IF_UNCHANGED)],
    "redundant-work-in-step": [("kept results", tables.kept_results, IF_UNCHANGED)],
}


def source_fixes(finding: Finding, folder: Path, recorded_in: str = "") -> list[Fix]:
    """The patches of a finding that fit the program in this folder.

    The program may have been recorded in a copy of the folder: `recorded_in`.
    """
    found: dict[str, Fix] = {}
    shapes = list(SHAPES.get(finding.id, []))
    if finding.id == "per-item-buffer-push":
        shapes.append(("batched push", partial(loops.batched_push, folder=folder), ""))
    for name, shape, learning in shapes:
        for source, lines in _files(finding.where, folder, recorded_in):
            diff = source.diff(_edits(shape, source, lines))
            if diff and diff not in found:
                how = f"change {source.name} as shown"
                found[diff] = Fix(name, how, diff=diff, learning=learning)
                break
    return list(found.values())


def _edits(shape: Shape, source: Source, lines: list[int]) -> list[Edit]:
    """The edits of a shape at all of these lines, each place once.

    Users write code that no shape expects: an error costs this patch, not the report.
    """
    try:
        return list(dict.fromkeys(edit for line in lines for edit in shape(source, line)))
    except Exception:
        return []


def _files(
    where: list[SourceLine], folder: Path, recorded_in: str
) -> list[tuple[Source, list[int]]]:
    """The files that a finding names, below the program's folder, with the lines in each."""
    lines: dict[str, list[int]] = {}
    for place in where:
        name = _below(place.file, folder, recorded_in)
        if name is not None:
            lines.setdefault(name, []).append(place.line)
    sources = [(Source.read(folder, name), each) for name, each in lines.items()]
    return [(source, each) for source, each in sources if source is not None]


def _below(file: str, folder: Path, recorded_in: str) -> str | None:
    """A recorded path as one of the program's own files below the folder."""
    for root in filter(None, (str(folder), os.path.realpath(folder), recorded_in)):
        try:
            name = Path(file).relative_to(root)
        except ValueError:
            continue
        if ".." not in name.parts and (folder / name).is_file() and _is_own(folder, name):
            return name.as_posix()
    return None


def _is_own(folder: Path, name: Path) -> bool:
    """Whether a file belongs to the program, not to an environment or a link in its folder."""
    if not LIBRARIES.isdisjoint(name.parts):
        return False
    above = [folder / parent for parent in name.parents]
    if any((each / "pyvenv.cfg").exists() for each in above):
        return False
    return (folder / name).resolve() == folder.resolve() / name
