"""The lines to edit for findings whose fix changes how something is created.

An optimizer, a vector of environments or a number of threads costs time where it is used, but is
changed where it is created. Samples do not show that line, because it takes no time; the source
does. Only names of libraries are searched for, in files that have not changed since the run began.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.finding import Finding
from hotloop.experiment.patches.source import called

_IN_PROCESS = ("SyncVectorEnv", "DummyVecEnv", "DummyVectorEnv", "SerialEnv", "make_vec_env",
               "make_vec")  # fmt: skip
_IN_PROCESSES = ("AsyncVectorEnv", "SubprocVecEnv", "SubprocVectorEnv", "ShmemVectorEnv",
                 "ParallelEnv", "make_vec_env", "make_vec")  # fmt: skip
#: Finding -> the calls that make what its fix changes, by the last part of their names.
MADE_BY: dict[str, frozenset[str]] = {
    "unfused-optimizer": frozenset(
        ["Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adamax", "NAdam", "RAdam"]
    ),
    "thread-oversubscription": frozenset(["set_num_threads"]),
    "loader-bound": frozenset(["DataLoader"]),
    # What a callback does, and how often, is said where it is made.
    "checkpointing": frozenset(["CheckpointCallback", "ModelCheckpoint"]),
    "evaluation": frozenset(["EvalCallback"]),
    "few-envs-per-runner": frozenset(["env_runners"]),
    "serial-heavy-env": frozenset(_IN_PROCESS),
    "subprocess-overhead": frozenset(_IN_PROCESSES),
    "pickled-observations": frozenset(_IN_PROCESSES),
    "too-many-envs": frozenset([*_IN_PROCESS, *_IN_PROCESSES]),
    "too-few-envs": frozenset([*_IN_PROCESS, *_IN_PROCESSES]),
}
#: Lines that a finding lists at most.
MOST_LINES = 3


def with_lines_to_edit(finding: Finding, files: Iterable[str]) -> Finding:
    """The finding, with the lines first that make what its fix changes."""
    made = [line for file in files for line in _calls(Path(file), MADE_BY[finding.id])]
    # With more of them, nothing says which one a finding is about.
    if not made or len(made) > MOST_LINES:
        return finding
    used = [line for line in finding.where if line not in made]
    return replace(finding, where=[*made, *used][:MOST_LINES])


def _calls(file: Path, names: frozenset[str]) -> list[SourceLine]:
    """Lines of a file that call one of these names."""
    try:
        tree = ast.parse(file.read_bytes())
    except (OSError, SyntaxError, ValueError):
        return []
    found: list[SourceLine] = []
    _search(tree, "<module>", str(file), names, found)
    return found


def _search(
    node: ast.AST, function: str, file: str, names: frozenset[str], found: list[SourceLine]
) -> None:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        function = node.name
    if isinstance(node, ast.Call) and called(node) in names:
        line = SourceLine(file, node.lineno, function)
        if line not in found:
            found.append(line)
    for child in ast.iter_child_nodes(node):
        _search(child, function, file, names, found)
