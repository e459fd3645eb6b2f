"""The patch for target networks that are updated tensor by tensor."""

from __future__ import annotations

import ast

from hotloop.experiment.patches.source import Edit, Source, called, uses


def foreach_target(source: Source, line: int) -> list[Edit]:
    """One `torch._foreach_lerp_` for a loop that moves each target parameter by itself.

    for slow, fast in zip(target.parameters(), online.parameters()):
        slow.data.copy_(tau * fast.data + (1 - tau) * slow.data)
    """
    torch = source.imports("torch") or "torch"
    for loop in ast.walk(source.tree):
        if not isinstance(loop, ast.For) or not loop.lineno <= line <= (loop.end_lineno or 0):
            continue
        if move := _move(source, loop):
            # The second critic's loop is usually next to the first one's.
            moves = {each: _move(source, each) for each in _beside(source, loop)} | {loop: move}
            edits = [
                source.replace_lines(each, [f"with {torch}.no_grad():", f"    {torch}.{found}"])
                for each, found in moves.items()
                if found
            ]
            return [*edits, *source.importing("torch")]
    return []


def _beside(source: Source, loop: ast.For) -> list[ast.For]:
    """The loops in the same block."""
    body = getattr(source.parent(loop), "body", [])
    return [each for each in body if isinstance(each, ast.For)] if loop in body else []


def _move(source: Source, loop: ast.For) -> str:
    """The call that does what a loop does; empty if it is another loop."""
    walked = _walked_together(loop)
    for slow, fast in (list(walked), list(walked)[::-1]) if len(walked) == 2 else ():
        if (rate := _rate(source, loop.body, slow, fast)) is not None:
            targets, sources = (f"list({source.of(walked[name])})" for name in (slow, fast))
            return f"_foreach_lerp_({targets}, {sources}, {rate})"
    return ""


def _walked_together(loop: ast.For) -> dict[str, ast.expr]:
    """The variables of `for a, b in zip(x, y)`, each with what it walks over."""
    pair, zipped = loop.target, loop.iter
    if not isinstance(pair, ast.Tuple) or not isinstance(zipped, ast.Call) or loop.orelse:
        return {}
    if called(zipped) != "zip" or len(zipped.args) != len(pair.elts):
        return {}
    names = [each.id for each in pair.elts if isinstance(each, ast.Name)]
    return dict(zip(names, zipped.args, strict=False)) if len(names) == len(pair.elts) else {}


def _rate(source: Source, body: list[ast.stmt], slow: str, fast: str) -> str | None:
    """The rate at which `slow` follows `fast` in a loop's body; None for anything else."""
    done: list[ast.Call] = []
    for statement in body:
        if isinstance(statement, ast.Assign) and len(body) == 1:  # p.data = …
            is_slow = len(statement.targets) == 1 and _is_tensor(statement.targets[0], slow)
            return _mixed(source, statement.value, slow, fast) if is_slow else None
        calls = _chained(statement.value, slow) if isinstance(statement, ast.Expr) else []
        if not calls:
            return None
        done += calls
    names = [called(each) for each in done]
    last = done[-1]
    factors = {each.arg: source.of(each.value) for each in last.keywords}
    if names == ["lerp_"] and len(last.args) == 2 and _is_tensor(last.args[0], fast):
        return source.of(last.args[1])
    if names == ["copy_"] and not factors:
        return _mixed(source, last.args[0], slow, fast)
    if names == ["mul_", "add_"] and len(last.args) == 1:
        if list(factors) == ["alpha"] and _is_tensor(last.args[0], fast):
            return _follows(source.of(done[0].args[0]), factors["alpha"])
        return _follows(source.of(done[0].args[0]), _factor(source, last.args[0], fast))
    return None


def _chained(node: ast.AST, slow: str) -> list[ast.Call]:
    """The calls of `p.data.mul_(a).add_(b)` in order; none if it is not of this tensor."""
    calls: list[ast.Call] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
        calls.append(node)
        node = node.func.value
    return calls[::-1] if _is_tensor(node, slow) else []


def _mixed(source: Source, both: ast.AST, slow: str, fast: str) -> str | None:
    """`tau` of `tau * fast.data + (1 - tau) * slow.data`."""
    parts = [both.left, both.right] if isinstance(both, ast.BinOp) else []
    if not isinstance(getattr(both, "op", None), ast.Add):
        return None
    kept, taken = ([_factor(source, each, name) for each in parts] for name in (slow, fast))
    return _follows(next(filter(None, kept), None), next(filter(None, taken), None))


def _is_tensor(node: ast.AST, name: str) -> bool:
    """Whether this is `p` or `p.data`."""
    if isinstance(node, ast.Attribute) and node.attr == "data":
        node = node.value
    return isinstance(node, ast.Name) and node.id == name


def _factor(source: Source, node: ast.AST, name: str) -> str | None:
    """`tau` of `tau * p.data`."""
    if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Mult):
        return None
    for one, other in ((node.left, node.right), (node.right, node.left)):
        if _is_tensor(one, name) and not uses(other, name):
            return source.of(other)
    return None


def _follows(kept: str | None, taken: str | None) -> str | None:
    """The second factor, if both add up to one: `1 - tau` and `tau`, or 0.99 and 0.01."""
    if kept is None or taken is None:
        return None
    for a, b in ((kept, taken), (taken, kept)):
        if a.strip("() ") in (f"{one} - {b.strip('() ')}" for one in ("1", "1.0", "1.")):
            return taken
    try:
        return taken if abs(float(kept) + float(taken) - 1.0) < 1e-9 else None
    except ValueError:
        return None
