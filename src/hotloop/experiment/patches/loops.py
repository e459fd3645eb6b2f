"""Patches of loops: work done item by item is done for all items at once."""

from __future__ import annotations

import ast
from pathlib import Path

from hotloop.experiment.patches.source import Edit, Function, Source, called, update_words, uses

#: Methods that take one item, and those that take many, of the same class.
_BATCHED = ("push_batch", "add_batch", "push_many", "add_many", "store_batch", "extend")
#: Calls around one item that an array of them does not need.
_OF_ONE_ITEM = ("item", "float", "int", "bool")
#: Functions of NumPy and torch that do the same to each element, of one number as of an array.
_ELEMENTWISE = """
    abs absolute add clamp clip cos exp expm1 fmax fmin isfinite isnan log log1p logaddexp
    logical_and logical_not logical_or maximum minimum multiply sigmoid sign sin sqrt square
    subtract tanh where
"""
#: Methods that draw from a buffer, and what buffers are called.
_DRAWING = {"sample", "draw", "batch", "next"}
_BUFFERS = ("buffer", "data", "load", "memory", "replay", "storage")
#: Parts of the names of calls around an update that do nothing else.
_AROUND = ("grad", "autocast")


class NoFitError(Exception):
    """The code does not have the shape that the patch handles."""


def batched_push(source: Source, line: int, folder: Path) -> list[Edit]:
    """`buffer.push_batch(obs, …)` for a loop of `buffer.push(obs[i], …)`."""
    for call in source.at(line, ast.Call):
        loop = source.inside(call, ast.For)
        if loop is None or len(loop.body) != 1 or not isinstance(call.func, ast.Attribute):
            continue
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        name = _batched_method(folder, call.func.attr, len(given))
        if name is None or source.statement(call) is not loop.body[0]:
            continue
        try:
            index, items = _items(source, loop)
            if any(uses(call.func, each) for each in (index, *items)):
                continue  # each item goes to another buffer
            arguments = [_whole(source, each, index, items) for each in given]
        except NoFitError:
            continue
        names = [""] * len(call.args) + [f"{keyword.arg}=" for keyword in call.keywords]
        written = ", ".join(map("".join, zip(names, arguments, strict=True)))
        return [source.replace_lines(loop, [f"{source.of(call.func.value)}.{name}({written})"])]
    return []


def _items(source: Source, loop: ast.For) -> tuple[str, dict[str, str]]:
    """A loop's index, and what its other variables are the items of."""
    target, walked = loop.target, loop.iter
    names = list(target.elts) if isinstance(target, ast.Tuple) else [target]
    arguments = walked.args if isinstance(walked, ast.Call) else []
    how = called(walked) if isinstance(walked, ast.Call) else ""
    index = ""
    # In `range(1, n)` and `enumerate(x, 1)`, the index does not number all items in order.
    if (how in ("range", "enumerate") and len(arguments) != 1) or _is_starred(arguments):
        raise NoFitError
    if how == "range" or (how == "enumerate" and len(names) == 2):
        index = getattr(names.pop(0), "id", "")
    if how not in ("range", "enumerate", "zip"):
        arguments = [walked]
    elif how == "range":
        arguments = []
    if len(names) != len(arguments) or not all(isinstance(each, ast.Name) for each in names):
        raise NoFitError
    items = zip(names, arguments, strict=True)
    return index, {each.id: source.of(many) for each, many in items if isinstance(each, ast.Name)}


def _is_starred(arguments: list[ast.expr]) -> bool:
    return any(isinstance(each, ast.Starred) for each in arguments)


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


def _whole(source: Source, node: ast.expr, index: str, items: dict[str, str]) -> str:
    """An expression about item `index`, for all items: `obs[i].numpy()` becomes `obs.numpy()`."""
    if isinstance(node, ast.Name) and node.id in items:
        return items[node.id]
    if isinstance(node, ast.Subscript) and _is_index(node.slice, index):
        if any(uses(node.value, name) for name in (index, *items)):
            raise NoFitError
        return source.of(node.value)
    if isinstance(node, ast.Call) and called(node) in _OF_ONE_ITEM:
        if isinstance(node.func, ast.Attribute) and not node.args:  # x[i].item()
            return f"{_whole(source, node.func.value, index, items)}.numpy()"
        if isinstance(node.func, ast.Name) and len(node.args) == 1:  # float(x[i])
            return _whole(source, node.args[0], index, items)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.args:
        return f"{_whole(source, node.func.value, index, items)}.{node.func.attr}()"
    raise NoFitError  # also one value for all items, which would need a copy for each


def _is_index(node: ast.AST, index: str) -> bool:
    return isinstance(node, ast.Name) and bool(index) and node.id == index


def all_environments(source: Source, line: int) -> list[Edit]:
    """Advantages for all environments at once: the loop over environments goes.

    `x[t, i]` becomes `x[t]`; a loop over time stays, as each step needs the next one's result.
    """
    function = source.function_at(line)
    for loop in ast.walk(function) if function is not None else ():
        if not isinstance(loop, ast.For) or not isinstance(loop.target, ast.Name) or loop.orelse:
            continue
        around_time = any(isinstance(node, ast.For) for node in loop.body)
        if not around_time and (source.inside(loop, ast.For) is None or _carries(loop)):
            continue
        try:
            _check_elementwise(source, loop, loop.target.id)
            index = loop.target.id
            edits = [_without(source, node, index) for node in _indices(source, loop)]
        except NoFitError:
            continue
        body = source.edited(edits).split("\n") if edits else []
        if body and loop.end_lineno is not None:
            first, last = loop.body[0].lineno - 1, loop.end_lineno
            inner = [each[4:] if each.startswith("    ") else each for each in body[first:last]]
            depth = len(source.indent(loop))
            return [source.replace_lines(loop, [each[depth:] for each in inner])]
    return []


def _carries(loop: ast.For) -> bool:
    """Whether a round of a loop may read a variable that the round before has set."""
    known: set[str] = set()
    stored = {n.id for n in ast.walk(loop) if isinstance(n, ast.Name) and _is_stored(n)}
    for statement in loop.body:
        names = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id in stored]
        read = {n.id for n in names if not _is_stored(n)} - {getattr(loop.target, "id", "")}
        if read - known or isinstance(statement, ast.AugAssign):
            return True
        known |= {n.id for n in names if _is_stored(n)}
    return False


def _is_stored(name: ast.Name) -> bool:
    return isinstance(name.ctx, ast.Store)


def _check_elementwise(source: Source, loop: ast.For, index: str) -> None:
    """Raise if a loop does anything to its items that it may not do to arrays of them."""
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    targets = [each for node in nodes for each in _assigned(node)]
    for target in targets:
        if not isinstance(target, ast.Name) and not isinstance(target, ast.Subscript):
            raise NoFitError
        if isinstance(target, ast.Subscript) and not uses(target.slice, index):
            raise NoFitError  # each round overwrites it
    of_items = {index} | {each.id for each in targets if isinstance(each, ast.Name)}
    begun = {index} | {
        n.id for each in loop.body for n in _assigned(each) if isinstance(n, ast.Name)
    }
    modules = {source.imports(each) for each in ("numpy", "torch")}
    for node in nodes:
        if isinstance(node, ast.stmt):
            if not isinstance(node, (ast.Assign, ast.AugAssign, ast.For, ast.If)):
                raise NoFitError
            if isinstance(node, ast.AugAssign) and getattr(node.target, "id", index) not in begun:
                raise NoFitError  # a total of all items
        if isinstance(node, (ast.If, ast.IfExp)):
            if any(uses(node.test, each) for each in of_items):
                raise NoFitError  # the truth of an array is not that of a number
        elif (
            not isinstance(node, ast.stmt)
            and not _is_elementwise(node, modules)
            and any(uses(node, each) for each in of_items)
        ):
            raise NoFitError


def _assigned(node: ast.AST) -> list[ast.expr]:
    """The targets that a statement assigns, one by one."""
    targets = [node.target] if isinstance(node, ast.AugAssign) else getattr(node, "targets", [])
    pairs = (each.elts if isinstance(each, ast.Tuple) else [each] for each in targets)
    return [target for pair in pairs for target in pair]


def _is_elementwise(node: ast.AST, modules: set[str | None]) -> bool:
    """Whether an expression of numbers does the same, element by element, with arrays."""
    if isinstance(node, ast.Call):
        module = getattr(getattr(node.func, "value", None), "id", "")
        return module in modules and called(node) in _ELEMENTWISE.split()
    if isinstance(node, ast.Compare):
        return len(node.ops) == 1 and not isinstance(node.ops[0], (ast.In, ast.NotIn, ast.Is))
    if isinstance(node, ast.UnaryOp):
        return not isinstance(node.op, ast.Not)
    # Nor is a list of arrays one of numbers.
    others = (ast.BoolOp, ast.Dict, ast.JoinedStr, ast.List, ast.ListComp, ast.Set)
    return not isinstance(node, (*others, ast.comprehension, ast.Lambda, ast.NamedExpr))


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
            around = source.parent(node)
            if isinstance(around, (ast.Attribute, ast.Subscript)) and around.value is node:
                raise NoFitError  # x[i][t]: what follows is of one environment
            found.append(node)
        for test in (n.test for n in ast.walk(statement) if isinstance(n, (ast.If, ast.IfExp))):
            if uses(test, outer.target.id):
                raise NoFitError  # the truth of an array is not that of a number
    return found


def _without(source: Source, node: ast.Subscript, index: str) -> Edit:
    """The same subscript without the index of the environment."""
    value = source.of(node.value)
    if _is_index(node.slice, index):
        return source.replace(node, value)
    if isinstance(node.slice, ast.Tuple) and len(node.slice.elts) == 2:
        first, second = node.slice.elts
        if _is_index(second, index) and not uses(first, index) and not isinstance(first, ast.Slice):
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
            some = "" if count == f"len({priorities})" else f"[:{count}]"
            total = f"{numpy}.cumsum({priorities}{some})"
            found = f"int({numpy}.searchsorted({total}, {wanted}, side={side!r}))"
            edit = source.replace_lines(
                loop, [f"found = {found}", f"if found < {count}:", "    return found"]
            )
            return [edit, *source.importing("numpy", "np")]
    return []


def _linear_search(source: Source, loop: ast.For) -> tuple[str, str, str, str] | None:
    """(priorities, how many, what is searched, the side where it is found)."""
    if len(loop.body) != 2 or not isinstance(loop.iter, ast.Call) or len(loop.iter.args) != 1:
        return None
    (add, test), walked = loop.body, loop.iter.args[0]
    if not isinstance(add, ast.AugAssign) or not isinstance(test, ast.If):
        return None
    value, compare, then = add.value, test.test, test.body[0]
    names = loop.target.elts if isinstance(loop.target, ast.Tuple) else [loop.target]
    index = getattr(names[0], "id", "")
    if called(loop.iter) == "range" and isinstance(value, ast.Subscript):
        priorities, count = source.of(value.value), source.of(walked)
    elif called(loop.iter) == "enumerate" and source.of(value) == source.of(names[-1]):
        priorities, count = source.of(walked), f"len({source.of(walked)})"
    else:
        return None
    if not (
        isinstance(compare, ast.Compare)
        and isinstance(then, ast.Return)
        and isinstance(then.value, ast.Name)
        and then.value.id == index
        and source.of(compare.left) == source.of(add.target)
        and isinstance(compare.ops[0], (ast.GtE, ast.Gt))
    ):
        return None
    side = "left" if isinstance(compare.ops[0], ast.GtE) else "right"
    return priorities, count, source.of(compare.comparators[0]), side


def weighted_draws(source: Source, line: int) -> list[Edit]:
    """One search for all draws, for `choice` with probabilities, which checks and sums them."""
    numpy = source.imports("numpy") or "np"
    for call in source.at(line, ast.Call):
        given = dict(zip(("a", "size", "replace", "p"), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg}
        if called(call) != "choice" or {"a", "size", "p"} != given.keys() - {"replace"}:
            continue
        again = given.get("replace")
        with_replacement = again is None or (isinstance(again, ast.Constant) and again.value)
        if not with_replacement or not _is_count(given["a"], given["p"]):
            continue
        if not isinstance(call.func, ast.Attribute):
            continue  # `choice` alone does not say whose random numbers it draws
        draws = f"{source.of(call.func.value)}.random({source.of(given['size'])})"
        sums = f"{numpy}.cumsum({source.of(given['p'])})[:-1]"
        found = f"{numpy}.searchsorted({sums}, {draws}, side='right')"
        return [source.replace(call, found), *source.importing("numpy", "np")]
    return []


def _is_count(node: ast.expr, weights: ast.expr) -> bool:
    """Whether this is a number of items, not an array of them."""
    upto = [n.upper for n in ast.walk(weights) if isinstance(n, ast.Slice) and n.upper]
    is_end = any(ast.dump(node) == ast.dump(each) for each in upto)
    is_length = isinstance(node, ast.Call) and called(node) == "len"
    return is_end or is_length or isinstance(node, ast.Constant)


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


def fewer_updates(source: Source, line: int) -> list[Edit]:
    """A quarter of the updates: of a loop that counts them, or every fourth time as often."""
    for call in source.at(line, ast.Call):
        loop = source.inside(call, ast.For)
        test = source.inside(call, ast.If)
        if loop is not None and _repeats_updates(source, loop):
            assert isinstance(loop.iter, ast.Call)
            (count,) = loop.iter.args
            return [source.replace(count, f"max({_grouped(source, count)} // 4, 1)")]
        for each in ast.walk(test.test) if test is not None else ():
            if isinstance(each, ast.BinOp) and isinstance(each.op, ast.Mod):
                every = _grouped(source, each.right)
                return [source.replace(each.right, f"({every} * 4)")]
    return []


def _repeats_updates(source: Source, loop: ast.For) -> bool:
    """Whether a loop draws from a buffer and updates a number of times, and does nothing else."""
    if not isinstance(loop.iter, ast.Call) or not isinstance(loop.target, ast.Name):
        return False
    if called(loop.iter) != "range" or len(loop.iter.args) != 1:
        return False
    nodes = [node for statement in loop.body for node in ast.walk(statement)]
    if any(isinstance(n, ast.Name) and n.id == loop.target.id for n in nodes):
        return False
    calls = [n for n in nodes if isinstance(n, ast.Call)]
    known = {call for call in calls if _updates(source, call)}
    for call in calls:
        if _draws(source, call) or any(word in called(call) for word in _AROUND):
            known |= {n for n in ast.walk(call) if isinstance(n, ast.Call)}
    names = _computed_from(loop, known)
    others = [call for call in calls if call not in known]
    return not any(update_words(each) for each in others) and all(
        any(n in known or getattr(n, "id", "") in names for n in ast.walk(each)) for each in others
    )


def _draws(source: Source, call: ast.Call) -> bool:
    """Whether a call takes a batch out of a buffer: `buffer.sample(n)` or `next(batches)`."""
    if _DRAWING.isdisjoint(called(call).lower().split("_")):
        return False
    if isinstance(call.func, ast.Name):
        return call.func.id == "next"
    owner = source.of(getattr(call.func, "value", call.func)).lower()
    return owner.endswith("rb") or any(word in owner for word in _BUFFERS)


def _computed_from(loop: ast.For, known: set[ast.Call]) -> set[str]:
    """Variables of a loop's body that depend on what some of its calls return."""
    names: set[str] = set()
    for statement in (n for each in loop.body for n in ast.walk(each)):
        value = statement.value if isinstance(statement, (ast.Assign, ast.AugAssign)) else None
        nodes = list(ast.walk(value)) if value is not None else []
        if any(n in known or getattr(n, "id", "") in names for n in nodes):
            stored = (n for n in ast.walk(statement) if isinstance(n, ast.Name) and _is_stored(n))
            names |= {n.id for n in stored}
    return names


def _updates(source: Source, call: ast.Call) -> bool:
    """Whether a call updates a network, without an environment: `step` is an optimizer's."""
    words, text = update_words(call), source.of(call).lower()
    is_step = words == {"step"}
    return bool(words) and "env" not in text and (not is_step or "opt" in text or "sched" in text)


def _grouped(source: Source, node: ast.expr) -> str:
    """An expression that binds as tightly as a name."""
    text = source.of(node)
    return f"({text})" if isinstance(node, (ast.BinOp, ast.IfExp, ast.BoolOp)) else text
