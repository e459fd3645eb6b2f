"""Whether an import statement can be moved into the functions that use what it imports."""

from __future__ import annotations

import ast
from collections.abc import Iterator


def can_be_moved(source: str, line: int) -> bool:
    """Whether the import on a line is at module level, and only functions use what it binds."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError):
        return False
    bound = {name for each in _at_import(tree) for name in _bound_by(each, line)}
    if not bound or "*" in bound:
        return False
    lazy = _has_lazy_annotations(tree)
    return not any(
        isinstance(each, ast.Name) and each.id in bound for each in _at_import(tree, lazy)
    )


def _bound_by(node: ast.AST, line: int) -> Iterator[str]:
    if isinstance(node, (ast.Import, ast.ImportFrom)) and node.lineno <= line <= (
        node.end_lineno or node.lineno
    ):
        for alias in node.names:
            yield alias.asname or alias.name.partition(".")[0]


def _has_lazy_annotations(tree: ast.Module) -> bool:
    return any(
        isinstance(each, ast.ImportFrom)
        and each.module == "__future__"
        and any(alias.name == "annotations" for alias in each.names)
        for each in tree.body
    )


def _at_import(node: ast.AST, lazy: bool = False) -> Iterator[ast.AST]:
    """Code that runs when the module is imported: all but the bodies of functions.

    Includes decorators, base classes, defaults and, unless they are lazy, annotations.
    """
    for child in _run_parts(node, lazy):
        yield child
        yield from _at_import(child, lazy)


def _run_parts(node: ast.AST, lazy: bool) -> Iterator[ast.AST]:
    for name, value in ast.iter_fields(node):
        if name == "body" and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if lazy and name in ("annotation", "returns"):
            continue
        parts = value if isinstance(value, list) else [value]
        yield from (part for part in parts if isinstance(part, ast.AST))
