"""A program's file with its syntax tree: edits keep every other character as it is."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from hotloop.experiment.patch import unified_diff

N = TypeVar("N", bound=ast.AST)

Function = ast.FunctionDef | ast.AsyncFunctionDef

#: Words in the names of methods that update a network.
_UPDATES = {"update", "learn", "train", "fit", "optimize", "backward", "step"}


@dataclass(frozen=True)
class Edit:
    """Bytes of a file that are replaced."""

    start: int
    end: int
    text: str


class Source:
    """One file of a program."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        self.tree = ast.parse(text)
        self._bytes = text.encode()
        self._starts = [0]
        for line in self._bytes.splitlines(keepends=True):
            self._starts.append(self._starts[-1] + len(line))
        self._parents = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    @classmethod
    def read(cls, folder: Path, name: str) -> Source | None:
        """A file below the program's folder; None if it cannot be read or parsed."""
        try:
            return cls(name, (folder / name).read_text(encoding="utf-8"))
        except (OSError, ValueError, SyntaxError):
            return None

    # -- nodes --

    def of(self, node: ast.AST) -> str:
        """A node as it is written."""
        start, end = self._span(node)
        return self._bytes[start:end].decode()

    def parent(self, node: ast.AST) -> ast.AST | None:
        return self._parents.get(node)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The innermost statement around a node."""
        while not isinstance(node, ast.stmt):
            node = self._parents[node]
        return node

    def after(self, statement: ast.stmt) -> list[ast.stmt]:
        """The statements that follow one in its block."""
        for _, block in ast.iter_fields(self._parents[statement]):
            if isinstance(block, list) and statement in block:
                return block[block.index(statement) + 1 :]
        return []

    def inside(self, node: ast.AST, kind: type[N]) -> N | None:
        """The innermost node of a kind around this one."""
        parent = self._parents.get(node)
        while parent is not None and not isinstance(parent, kind):
            parent = self._parents.get(parent)
        return parent

    def function_at(self, line: int) -> Function | None:
        """The innermost function with this line in it."""
        around = [
            node
            for node in ast.walk(self.tree)
            if isinstance(node, Function) and node.lineno <= line <= (node.end_lineno or 0)
        ]
        return max(around, key=lambda node: node.lineno, default=None)

    def at(self, line: int, kind: type[N]) -> Iterator[N]:
        """Nodes of a kind in the statement that this line belongs to."""
        for node in ast.walk(self.tree):
            if isinstance(node, kind) and hasattr(node, "lineno"):
                statement = self.statement(node)
                simple = not hasattr(statement, "body")
                last = (statement.end_lineno if simple else getattr(node, "end_lineno", 0)) or 0
                if (statement.lineno if simple else getattr(node, "lineno", 0)) <= line <= last:
                    yield node

    def indent(self, node: ast.stmt) -> str:
        """The indentation of a statement: spaces, or tabs as in the file."""
        start = self._starts[node.lineno - 1]
        before = self._bytes[start : start + node.col_offset].decode()
        return before if before.isspace() else " " * node.col_offset

    def owns_lines(self, node: ast.stmt) -> bool:
        """Whether a statement's lines contain nothing else but comments."""
        start, end = self._span(node)
        before = self._bytes[self._starts[node.lineno - 1] : start]
        after = self._bytes[end : self._starts[node.end_lineno or node.lineno]].strip()
        return not before.strip() and (not after or after.startswith(b"#"))

    def imports(self, module: str) -> str | None:
        """The name by which the file knows a module: `np` for numpy."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    if alias.name == module:
                        return alias.asname or alias.name
        return None

    def modules(self) -> set[str]:
        """The names by which the file knows modules."""
        imports = (node for node in ast.walk(self.tree) if isinstance(node, ast.Import))
        return {a.asname or a.name.partition(".")[0] for node in imports for a in node.names}

    def called(self, node: ast.Call) -> str:
        """The same as `called`; `deepcopy` after `from copy import deepcopy as dc`."""
        name = called(node)
        for each in ast.walk(self.tree) if isinstance(node.func, ast.Name) else ():
            if isinstance(each, ast.ImportFrom):
                for alias in each.names:
                    if alias.asname == name:
                        return alias.name
        return name

    # -- edits --

    def replace(self, node: ast.AST, text: str) -> Edit:
        return Edit(*self._span(node), text)

    def replace_lines(
        self, node: ast.stmt, lines: list[str], through: ast.stmt | None = None
    ) -> Edit:
        """Put other lines in a statement's place, each with the statement's indent.

        In the place of all statements up to another one of its block, if that is given.
        """
        last = through or node
        start = self._starts[node.lineno - 1]
        end = self._starts[last.end_lineno or last.lineno]
        return Edit(start, end, self._indented(node, lines))

    def before(self, node: ast.stmt, lines: list[str]) -> Edit:
        """Put lines before a statement or a decorated function."""
        decorators = getattr(node, "decorator_list", [])
        first = min([node.lineno, *(each.lineno for each in decorators)])
        at = self._starts[first - 1]
        return Edit(at, at, self._indented(node, lines))

    def importing(self, module: str, name: str | None = None) -> list[Edit]:
        """An import of a module at the top, where the file has none."""
        if self.imports(module) is not None:
            return []
        imports = [n for n in self.tree.body if isinstance(n, (ast.Import, ast.ImportFrom))]
        late = [n for n in imports if getattr(n, "module", "") != "__future__"]
        first = next(iter([*late, *(n for n in self.tree.body if not _is_docstring(n))]), None)
        line = f"import {module}" + (f" as {name}" if name else "")
        return [self.before(first, [line])] if first is not None else []

    def edited(self, edits: list[Edit]) -> str:
        """The text after some edits that do not overlap."""
        result, at = b"", 0
        for edit in sorted(dict.fromkeys(edits), key=lambda each: (each.start, each.end)):
            if edit.start < at:
                raise ValueError("edits overlap")
            result += self._bytes[at : edit.start] + edit.text.encode()
            at = edit.end
        return (result + self._bytes[at:]).decode()

    def diff(self, edits: list[Edit]) -> str:
        """The edits as a unified diff; empty if they change nothing or break the file."""
        try:
            after = self.edited(edits)
            ast.parse(after)
        except (ValueError, SyntaxError):
            return ""
        return unified_diff(self.name, self.text, after)

    def _indented(self, node: ast.stmt, lines: list[str]) -> str:
        indent = self.indent(node)
        return "".join(f"{indent}{line}\n" if line else "\n" for line in lines)

    def _span(self, node: ast.AST) -> tuple[int, int]:
        start = self._starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]
        end = self._starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]
        return start, end


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def called(node: ast.Call) -> str:
    """The last part of what a call names: `predict` of `self.model.predict(x)`."""
    function = node.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def update_words(call: ast.Call) -> set[str]:
    """The words in what a call names that say that it updates a network.

    With `step` alone, it may as well be of an environment.
    """
    return _UPDATES.intersection(called(call).lower().split("_"))


def uses(node: ast.AST, name: str) -> list[ast.Name]:
    """The uses of a variable below a node."""
    return [n for n in ast.walk(node) if isinstance(n, ast.Name) and n.id == name]
