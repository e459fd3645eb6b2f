"""Cuts a script where its definitions end, so that hooks can look at them before they are used.

An imported module can be looked at when its import is over. A script never is: its loop runs at the
end of the very code that defines its classes. So the code is compiled in a few pieces that run one
after the other in the same namespace: each statement is compiled as it stands, with the lines that
it has, and nothing is added. What cannot be cut safely runs in one piece.
"""

from __future__ import annotations

import ast
import sys
from types import CodeType

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

#: Compiler flags of `from __future__ import ...`, as `compile` takes and code objects keep them.
_FUTURE = 0x1FF0000


def cut(code: CodeType, source: bytes | str | None) -> list[CodeType]:
    """The code of a whole script in pieces; all but the last end with a definition."""
    if source is None:
        return [code]
    try:
        tree = ast.parse(source, code.co_filename)
        return _compiled(code, tree.body)
    except (SyntaxError, ValueError, RecursionError):
        return [code]  # it compiled as a whole: run it so


def _compiled(code: CodeType, body: list[ast.stmt]) -> list[CodeType]:
    if sys.version_info >= (3, 14) and any(isinstance(each, ast.AnnAssign) for each in body):
        return [code]  # annotations of a module are evaluated together there
    pieces = _pieces(body)
    if len(pieces) < 2:
        return [code]
    flags = code.co_flags & _FUTURE
    return [
        compile(
            ast.Module(piece, type_ignores=[]), code.co_filename, "exec", flags, dont_inherit=True
        )
        for piece in pieces
    ]


def _pieces(body: list[ast.stmt]) -> list[list[ast.stmt]]:
    """Runs of statements, each up to the last of some definitions in a row."""
    pieces: list[list[ast.stmt]] = [[]]
    for i, statement in enumerate(body):
        before = body[i - 1] if i else None
        ends = isinstance(before, _DEFINITIONS) and not isinstance(statement, _DEFINITIONS)
        # A piece that begins with a text would take it for the module's documentation.
        if ends and not _is_text(statement):
            pieces.append([])
        pieces[-1].append(statement)
    return pieces


def _is_text(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
