"""Patches of loops: what is done item by item is done for all items at once."""

from __future__ import annotations

import ast
from pathlib import Path

from hotloop.experiment.patches.source import Edit, Function, Source, called, uses

#: Methods that take one item, and those that take many, of the same class.
_BATCHED = ("push_batch", "add_batch", "push_many", "add_many", "store_batch", "extend")
#: Calls around one item that an array of them does not need.
_OF_ONE_ITEM = ("item", "float", "int", "bool")


class NoFitError(Exception):
    """The code does not have the shape that the patch handles."""


def batched_push(source: Source, line: int, folder: Path) -> list[Edit]:
    """`buffer.push_batch(obs, …)` for a loop of `buffer.push(obs[i], …)`."""
    for call in source.at(line, ast.Call):
        loop = source.inside(call, ast.For)
        if loop is None or len(loop.body) != 1 or not isinstance(loop.target, ast.Name):
            continue
        if not isinstance(call.func, ast.Attribute) or source.statement(call) is not loop.body[0]:
            continue
        name = _batched_method(folder, call.func.attr, len(call.args))
        if name is None or call.keywords:
            continue
        try:
            arguments = [_whole(source, each, loop.target.id) for each in call.args]
        except NoFitError:
            continue
        receiver = source.of(call.func.value)
        return [source.replace_lines(loop, [f"{receiver}.{name}({', '.join(arguments)})"])]
    return []


def _batched_method(folder: Path, method: str, arguments: int) -> str | None:
    """A method for many items of a class of the program that has this one for one item."""
    for path in sorted(folder.rglob("*.py"))[:500]:
        source = Source.read(folder, str(path.relative_to(folder)))
        if source is None:
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.ClassDef):
                own = {f.name: f for f in node.body if isinstance(f, Function)}
                for name in _BATCHED:
                    if method in own and name in own and len(own[name].args.args) == arguments + 1:
                        return name
    return None


def _whole(source: Source, node: ast.expr, index: str) -> str:
    """An expression about item `index`, for all items: `obs[i].numpy()` becomes `obs.numpy()`."""
    index_only = isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Name)
    if isinstance(node, ast.Subscript) and index_only and not uses(node.value, index):
        return source.of(node.value)
    if isinstance(node, ast.Call) and called(node) in _OF_ONE_ITEM:
        if isinstance(node.func, ast.Attribute) and not node.args:  # x[i].item()
            return f"{_whole(source, node.func.value, index)}.numpy()"
        if isinstance(node.func, ast.Name) and len(node.args) == 1:  # float(x[i])
            return _whole(source, node.args[0], index)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        return f"{_whole(source, node.func.value, index)}.{node.func.attr}()"
    raise NoFitError  # also one value for all items, which would need a copy for each


def all_environments(source: Source, line: int) -> list[Edit]:
    """Advantages for all environments at once: the loop over environments goes.

    `x[t, i]` becomes `x[t]`; a loop over time stays, as each step needs the next one's result.
    """
    function = source.function_at(line)
    for outer in ast.walk(function) if function is not None else ():
        if not isinstance(outer, ast.For) or not isinstance(outer.target, ast.Name):
            continue
        if not any(isinstance(node, ast.For) for node in outer.body) or outer.orelse:
            continue
        try:
            edits = [_without(source, name) for name in _indices(source, outer)]
        except NoFitError:
            continue
        body = source.edited(edits).split("\n") if edits else []
        if body and outer.end_lineno is not None:
            first, last = outer.body[0].lineno - 1, outer.end_lineno
            inner = [each[4:] if each.startswith("    ") else each for each in body[first:last]]
            depth = len(source.indent(outer))
            return [source.replace_lines(outer, [each[depth:] for each in inner])]
    return []


def _indices(source: Source, outer: ast.For) -> list[ast.Subscript]:
    """Every use of the loop's variable as an index; anything else does not fit."""
    assert isinstance(outer.target, ast.Name)
    found = []
    for statement in outer.body:
        for name in uses(statement, outer.target.id):
            node = source.parent(name)
            if isinstance(node, ast.Tuple):
                node = source.parent(node)
            if not isinstance(node, ast.Subscript) or source.inside(node, ast.If) in outer.body:
                raise NoFitError
            found.append(node)
        for test in (n.test for n in ast.walk(statement) if isinstance(n, (ast.If, ast.IfExp))):
            if uses(test, outer.target.id):
                raise NoFitError  # the truth of an array is not that of a number
    return found


def _without(source: Source, node: ast.Subscript) -> Edit:
    """The same subscript without the index of the environment."""
    value = source.of(node.value)
    if isinstance(node.slice, ast.Name):
        return source.replace(node, value)
    if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        first, second = node.slice.elts
        if isinstance(second, ast.Name):
            return source.replace(node, f"{value}[{source.of(first)}]")
    raise NoFitError


def cumulative_search(source: Source, line: int) -> list[Edit]:
    """`np.searchsorted` over a cumulative sum, for a loop that adds priorities until it is there.

    for i in range(n):
        total += p[i]
        if total >= wanted:
            return i
    return last
    """
    function = source.function_at(line)
    for loop in ast.walk(function) if function is not None else ():
        if isinstance(loop, ast.For) and (parts := _linear_search(source, loop)):
            priorities, count, wanted, side = parts
            numpy = source.imports("numpy") or "np"
            total = f"{numpy}.cumsum({priorities}[:{count}])"
            found = f"int({numpy}.searchsorted({total}, {wanted}, side={side!r}))"
            edit = source.replace_lines(
                loop, [f"found = {found}", f"if found < {count}:", "    return found"]
            )
            return [edit, *source.importing("numpy", "np")]
    return []


def _linear_search(source: Source, loop: ast.For) -> tuple[str, str, str, str] | None:
    if not isinstance(loop.target, ast.Name) or len(loop.body) != 2:
        return None
    add, test = loop.body
    in_range = isinstance(loop.iter, ast.Call) and called(loop.iter) == "range"
    if not in_range or not isinstance(add, ast.AugAssign) or not isinstance(test, ast.If):
        return None
    value, compare, then = add.value, test.test, test.body[0]
    if not (
        isinstance(value, ast.Subscript)
        and isinstance(compare, ast.Compare)
        and isinstance(then, ast.Return)
        and isinstance(then.value, ast.Name)
        and then.value.id == loop.target.id
        and source.of(compare.left) == source.of(add.target)
        and isinstance(compare.ops[0], (ast.GtE, ast.Gt))
        and isinstance(loop.iter, ast.Call)
        and len(loop.iter.args) == 1
    ):
        return None
    side = "left" if isinstance(compare.ops[0], ast.GtE) else "right"
    count = source.of(loop.iter.args[0])
    return source.of(value.value), count, source.of(compare.comparators[0]), side


def whole_batch(source: Source, line: int) -> list[Edit]:
    """One call with the batch, for a loop of calls with each of its items."""
    function = source.function_at(line)
    for loop in ast.walk(function) if function is not None else ():
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name):
            continue
        if len(loop.body) != 1 or not isinstance(loop.body[0], ast.Expr):
            continue
        index = loop.target.id
        slices = [n for n in ast.walk(loop.body[0]) if isinstance(n, ast.Subscript)]
        own = [n for n in slices if isinstance(n.slice, ast.Slice) and uses(n.slice, index)]
        if own and all(source.of(n).endswith(f"[{index} : {index} + 1]") or
                       source.of(n).endswith(f"[{index}:{index}+1]") for n in own):  # fmt: skip
            text = source.edited([source.replace(n, source.of(n.value)) for n in own])
            first, last = loop.body[0].lineno - 1, loop.end_lineno
            lines = [each[4:] for each in text.split("\n")[first:last]]
            depth = len(source.indent(loop))
            return [source.replace_lines(loop, [each[depth:] for each in lines])]
    return []
