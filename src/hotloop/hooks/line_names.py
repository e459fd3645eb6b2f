"""What the program's own hot lines call, and which loop they stand in.

A sample ends at a line of Python; what that line calls in C (a file's `write`, a list's `append`)
has no frame. So the source says it: for each line of the program that samples saw, the names of the
functions called there, and the first line of the innermost `for` around it. A line that is in no
readable source is left out.
"""

from __future__ import annotations

import ast
import tokenize
from typing import Any

from hotloop.hooks.program_files import is_program_file
from hotloop.measure.profiler import Profiler

#: Lines that are noted of a run, files that are read, and the largest of them: a program has a few
#: hot lines, a generated one may have thousands.
MOST_LINES = 400
MOST_FILES = 64
LARGEST_FILE = 1_000_000
#: A call that is written over more lines than this is a table of its own.
LONGEST_CALL = 12


class LineNames:
    """Looks up the lines of stacks as they come."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._seen = 0
        self._files: dict[str, dict[int, list[Any]]] = {}
        #: File -> line -> [names that are called there, first line of the loop around it or 0].
        self._found: dict[str, dict[str, list[Any]]] = {}
        self._count = 0

    def notes(self) -> dict[str, Any]:
        """Called as each window closes; only what is new is looked up."""
        stacks = self._profiler.stacks
        for row in stacks[self._seen :]:
            self._look_up(row.file, row.line)
        self._seen = len(stacks)
        found = {file: dict(lines) for file, lines in self._found.items()}
        return {"lines": found} if found else {}

    def _look_up(self, file: str, line: int) -> None:
        if self._count >= MOST_LINES or str(line) in self._found.get(file, ()):
            return
        if file not in self._files:
            if len(self._files) >= MOST_FILES:
                return
            self._files[file] = lines_of(file) if is_program_file(file) else {}
        entry = self._files[file].get(line)
        if entry is not None:
            self._found.setdefault(file, {})[str(line)] = entry
            self._count += 1


def lines_of(file: str) -> dict[int, list[Any]]:
    """Line -> [names called there, first line of the innermost loop]; empty if it is unreadable."""
    try:
        with tokenize.open(file) as source:
            text = source.read(LARGEST_FILE + 1)
        tree = ast.parse(text) if len(text) <= LARGEST_FILE else None
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[int, list[Any]] = {}
    if tree is not None:
        _walk(tree, 0, found)
    return found


def _walk(top: ast.AST, loop: int, found: dict[int, list[Any]]) -> None:
    # By hand, as deep sources would be too deep for recursion.
    waiting = [(top, loop)]
    while waiting:
        node, loop = waiting.pop()
        if isinstance(node, ast.Call) and (name := _name(node.func)):
            last = min(node.end_lineno or node.lineno, node.lineno + LONGEST_CALL)
            for line in range(node.lineno, last + 1):
                names, _ = entry = found.setdefault(line, [[], loop])
                entry[1] = max(entry[1], loop)
                if name not in names:
                    names.append(name)
        inner = loop
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            inner = 0  # a function that is defined in a loop does not run as often as it
        elif isinstance(node, (ast.For, ast.comprehension)):
            inner = getattr(node, "lineno", loop)
        waiting += [(child, inner) for child in ast.iter_child_nodes(node)]


def _name(function: ast.expr) -> str:
    """`print`, `np.random.choice`, `append`: with what is before it where that is plain names."""
    parts: list[str] = []
    while isinstance(function, ast.Attribute):
        parts.append(function.attr)
        function = function.value
    if isinstance(function, ast.Name):
        parts.append(function.id)
    else:
        parts = parts[:1]  # of what a call or an index gives only the method is known
    return ".".join(reversed(parts))
