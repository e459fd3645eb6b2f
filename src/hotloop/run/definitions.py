"""Marks where a script's definitions end, so that hooks can inspect them before they are used.

An imported module can be inspected after its import. A script cannot, because its loop runs at the
end of the same code that defines its classes. So a mark is inserted after each group of
definitions: an expression that negates a constant, which is an object of hotloop. Everything else
is compiled unchanged, in one piece and with its own line numbers, so functions and classes have the
same code as without hotloop.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable
from types import CodeType

from hotloop.measure.core import make_mark

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)

#: Replaced by the mark after compilation: the compiler accepts only constants of builtin types.
_PLACEHOLDER = "hotloop: definitions end here"

#: Compiler flags of `from __future__ import ...`, as `compile` takes and code objects keep them.
_FUTURE = 0x1FF0000


def with_marks(code: CodeType, source: bytes | None, defined: Callable[[], None]) -> CodeType:
    """The code of a whole script, which also calls `defined` at the end of definitions."""
    if source is None or _PLACEHOLDER in code.co_consts:
        return code
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # Python has shown those of this source already
            tree = ast.parse(source, code.co_filename)
            tree.body = _marked(tree.body)
            flags = code.co_flags & _FUTURE
            marked: CodeType = compile(tree, code.co_filename, "exec", flags, dont_inherit=True)
    except (SyntaxError, ValueError, RecursionError):
        return code  # it compiled as it was: run it so
    mark = make_mark(defined)
    constants = (mark if each == _PLACEHOLDER else each for each in marked.co_consts)
    return marked.replace(co_consts=tuple(constants))


def _marked(body: list[ast.stmt]) -> list[ast.stmt]:
    marked: list[ast.stmt] = []
    for statement in body:
        before = marked[-1] if marked else None
        if isinstance(before, _DEFINITIONS) and not isinstance(statement, _DEFINITIONS):
            marked.append(_mark_at(statement))
        marked.append(statement)
    return marked


def _mark_at(statement: ast.stmt) -> ast.stmt:
    mark = ast.Expr(ast.UnaryOp(ast.USub(), ast.Constant(_PLACEHOLDER)))
    for node in ast.walk(mark):
        ast.copy_location(node, statement)
        if isinstance(node, (ast.stmt, ast.expr)):
            node.end_lineno, node.end_col_offset = node.lineno, node.col_offset
    return mark
