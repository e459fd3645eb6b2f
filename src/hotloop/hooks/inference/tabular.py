"""Programs that learn inline, in a table of values: Q-learning or SARSA without a library.

Between two steps such a program chooses the next action and changes its table in the lines of its
loop. There is no call to put a region around, and no event that separates the two, so the
code as a whole is named: `agent`. Its source shows that the program learns there: what
calls the environment's step also changes entries of something whose entries it reads, and speaks of
a reward and of a discount, a learning rate or action values.
"""

from __future__ import annotations

import ast
import linecache
import os
import sys
from collections.abc import Iterator
from types import CodeType, FrameType
from typing import TYPE_CHECKING

from hotloop.hooks.inference.events import ADD
from hotloop.hooks.inference.gaps import has_gradients
from hotloop.hooks.program import vocabulary as v
from hotloop.hooks.program.files import is_program_file

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

#: How often to search for a table, and through how many functions above a step.
_TRIES = 8
_DEPTH = 3


class Tabular:
    """Whether the program of a run learns in a table, and where."""

    def __init__(self, context: HookContext) -> None:
        self._order = context.order
        self._tries = 0
        #: Where the table was found: file, function, line of the step.
        self._found: list[tuple[str, str, int]] = []

    def look(self) -> None:
        """An environment was stepped just now: is this a loop with a table?"""
        if self._tries >= _TRIES:
            return
        self._tries += 1
        if self._order.active or has_gradients():
            return
        frame: FrameType | None = sys._getframe(1)
        depth = 0
        while frame is not None and depth < _DEPTH:
            code = frame.f_code
            if is_program_file(code.co_filename):
                depth += 1
                if changes_a_table(code):
                    self._tries = _TRIES
                    self._found.append((code.co_filename, code.co_name, frame.f_lineno))
                    self._order.learn_inline(True)
                    return
            frame = frame.f_back

    def something_ended(self, *_: object, **__: object) -> None:
        """A recognized part has ended; the loop's own code continues."""
        if self._order.is_table:
            self._order.happened(ADD)

    def remarks(self) -> list[str]:
        """Remarks for the report."""
        if not self._order.is_table:
            return []
        return [
            "The code between two environment steps is shown as agent "
            f"({os.path.basename(file)}, {'the loop' if name == '<module>' else name} around "
            f"line {line}). It updates a table inline; to separate choosing from learning, "
            "move each into its own function."
            for file, name, line in self._found
        ]


def changes_a_table(code: CodeType) -> bool:
    """Whether a piece of code learns action values by itself."""
    words = v.words_in(code)
    if not words & (v.REWARD | {"r"}) or not words & v.LEARNS_VALUES:
        return False
    try:
        tree = ast.parse("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError):
        return False
    return any(_changes_what_it_reads(body) for body in _bodies(tree, code))


def _bodies(tree: ast.Module, code: CodeType) -> Iterator[list[ast.stmt]]:
    if code.co_name == "<module>":
        yield tree.body
        return
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            lines = (node.lineno, *(each.lineno for each in node.decorator_list))
            if node.name == code.co_name and code.co_firstlineno in lines:
                yield node.body


def _changes_what_it_reads(body: list[ast.stmt]) -> bool:
    changed: set[str] = set()
    read: set[str] = set()
    for node in _own_nodes(body):
        if isinstance(node, ast.Subscript):
            (read if isinstance(node.ctx, ast.Load) else changed).add(_container(node))
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            read.add(ast.unparse(node.func.value))  # q.get(key), q[state].max()
    return bool(changed & read)


def _own_nodes(body: list[ast.stmt]) -> Iterator[ast.AST]:
    """What is in the statements, but not in functions and classes that they define."""
    waiting: list[ast.AST] = list(body)
    while waiting:
        node = waiting.pop()
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            yield node
            waiting.extend(ast.iter_child_nodes(node))


def _container(node: ast.expr) -> str:
    while isinstance(node, ast.Subscript):
        node = node.value
    return ast.unparse(node)
