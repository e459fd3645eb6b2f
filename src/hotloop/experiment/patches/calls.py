"""Patches of single calls: the statement stays, one call in it changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from hotloop.experiment.patches.source import Edit, Function, Source, called, update_words

_TENSORS = ("tensor", "as_tensor", "new_tensor", "FloatTensor", "Tensor", "LongTensor")
#: Functions whose results have no gradients, whatever they are called on.
_WITHOUT_GRADIENTS = ("argmax", "detach", "item", "multinomial", "numpy", "tensor", "tolist")
#: The same of these, if they are Python's own: `x.float()` keeps its graph.
_NUMBERS = ("float", "int")
#: Methods of containers that keep a value for later.
_KEEPING = ("add", "append", "appendleft", "extend", "insert", "push", "put", "store")
#: Statements that a `with` block takes in.
_WRAPPED = (ast.Assign, ast.AnnAssign, ast.Expr, ast.Return)
#: PIL's filters that read many pixels for each new one.
_SLOW_FILTERS = ("LANCZOS", "BICUBIC", "ANTIALIAS", "HAMMING")
#: Methods of a rolling window that pandas has itself.
_ROLLING = ("mean", "max", "min", "sum", "std", "var", "median")


def no_grad(source: Source, line: int) -> list[Edit]:
    """`with torch.no_grad():` around the statement that acts, or else the whole function."""
    torch, importing = source.imports("torch") or "torch", source.importing("torch")
    calls = [call for call in source.at(line, ast.Call) if not source.inside(call, ast.Lambda)]
    for call in calls:
        statement = source.statement(call)
        if _is_learned_from(source, statement):
            return []
        if not isinstance(statement, _WRAPPED) or not source.owns_lines(statement):
            continue
        last = _last_asked(source, call, statement)
        lines = source.text.split("\n")[statement.lineno - 1 : last.end_lineno]
        indent = source.indent(statement)
        deeper = "\t" if "\t" in indent else "    "
        body = [deeper + each.removeprefix(indent) if each else "" for each in lines]
        edit = source.replace_lines(statement, [f"with {torch}.no_grad():", *body], last)
        return [edit, *importing]
    function = source.function_at(line)
    if not calls or function is None or _learns(source, function):
        return []
    return [source.before(function, [f"@{torch}.no_grad()"]), *importing]


def _last_asked(source: Source, call: ast.Call, statement: ast.stmt) -> ast.stmt:
    """The last of the statements that ask one network after another about the same input.

    An actor acts, and a critic judges the same state: neither needs a graph.
    """
    last = statement
    for each in source.after(statement):
        value = each.value if isinstance(each, ast.Assign) else None
        if not isinstance(value, ast.Call) or not value.args or not call.args:
            break
        same = ast.dump(value.args[0]) == ast.dump(call.args[0])
        if not same or not source.owns_lines(each) or _is_learned_from(source, each):
            break
        if _learns_inside(source, value):
            break
        last = each
    return last


def _learns_inside(source: Source, call: ast.Call) -> bool:
    """Whether a function of this file with the name that is called updates a network."""
    functions = (node for node in ast.walk(source.tree) if isinstance(node, Function))
    named = (each for each in functions if each.name == called(call))
    return any(_is_learning(node) for each in named for node in ast.walk(each))


def _learns(source: Source, function: ast.AST) -> bool:
    """Whether a function learns, calls what does, or returns what its caller may learn from."""
    modules, nodes = source.modules(), list(ast.walk(function))
    kept = (value for node in nodes for value in _kept(node))
    made = [n for n in nodes if isinstance(n, ast.Assign) and _is_result(n.value)]
    if any(map(_is_result, kept)) or _are_needed(
        {n for each in made for n in _targets(each)}, nodes
    ):
        return True
    return any(
        _needs_gradients(node) - modules
        or isinstance(node, (ast.Yield, ast.YieldFrom))
        or _is_learning(node)
        for node in nodes
    )


def _is_learning(node: ast.AST) -> bool:
    """Whether this calls what updates a network, and is not `env.step(action)`."""
    words = update_words(node) if isinstance(node, ast.Call) else set()
    is_environment = words == {"step"} and "env" in ast.unparse(node).partition("(")[0].lower()
    return bool(words) and not is_environment


def _is_learned_from(source: Source, statement: ast.stmt) -> bool:
    """Whether what a statement computes reaches a backward pass: it needs its gradients."""
    if isinstance(statement, _WRAPPED):
        if any(_is_learning(node) for node in ast.walk(statement)):
            return True
        value = statement.value
        if value is None or not _with_gradients(value) - source.modules():
            return False
        if isinstance(statement, ast.Return) or any(map(_is_result, _kept(statement))):
            return True  # the caller may learn from it, or any code that reads the stored value
    tree = source.function_at(statement.lineno) or source.tree
    return _are_needed(_targets(statement), list(ast.walk(tree)))


def _are_needed(names: set[str], nodes: list[ast.AST]) -> bool:
    """Whether gradients of these variables, or of what is computed from them, are needed."""
    reached, before = set(names), -1
    while len(reached) > before:
        before = len(reached)
        for each in nodes:
            if isinstance(each, (ast.Assign, ast.AugAssign)):
                reached |= _targets(each) if _with_gradients(each.value) & reached else set()
    kept = [value for node in nodes for value in _kept(node)]
    needed = [*map(_needs_gradients, nodes), *map(_with_gradients, kept)]
    return any(each & reached for each in needed)


def _kept(statement: ast.AST) -> list[ast.expr]:
    """Values that a statement leaves in an object, whose readers are not known."""
    values: list[ast.expr] = []
    if isinstance(statement, (ast.Assign, ast.AugAssign, ast.AnnAssign)) and statement.value:
        stored = (n for n in ast.walk(statement) if isinstance(n, ast.Attribute))
        if any(isinstance(n.ctx, ast.Store) or _is_item_of(statement, n) for n in stored):
            values = [statement.value]
    elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
        call = statement.value
        if isinstance(call.func, ast.Attribute) and call.func.attr in _KEEPING:
            values = [*call.args, *(keyword.value for keyword in call.keywords)]
    for value in values:
        if isinstance(value, (ast.Tuple, ast.List)):
            values += value.elts
    return [value for value in values if not isinstance(value, (ast.Tuple, ast.List))]


def _is_item_of(statement: ast.AST, attribute: ast.Attribute) -> bool:
    """Whether a statement assigns an item of an attribute: `self.values[t] = value`."""
    items = (n for n in ast.walk(statement) if isinstance(n, ast.Subscript))
    return any(n.value is attribute and isinstance(n.ctx, ast.Store) for n in items)


def _is_result(value: ast.expr) -> bool:
    """Whether a value is what a call returns, with its gradients."""
    return any(isinstance(node, ast.Call) for node in _carrying(value))


def _needs_gradients(node: ast.AST) -> set[str]:
    """Names whose gradients a backward pass needs, here or in a caller."""
    if isinstance(node, ast.Return) and node.value is not None:
        return _with_gradients(node.value)
    is_backward = isinstance(node, ast.Call) and called(node) in ("backward", "grad")
    return _with_gradients(node) if is_backward else set()


def _targets(statement: ast.stmt) -> set[str]:
    """Names that a statement assigns, or assigns items of."""
    stored = [n for n in ast.walk(statement) if isinstance(getattr(n, "ctx", None), ast.Store)]
    nodes = [n.value if isinstance(n, ast.Subscript) else n for n in stored]
    return {node.id for node in nodes if isinstance(node, ast.Name)}


def _with_gradients(node: ast.AST) -> set[str]:
    """Names whose gradients a value may carry on."""
    return {each.id for each in _carrying(node) if isinstance(each, ast.Name)}


def _carrying(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a value that may carry gradients into it."""
    if isinstance(node, ast.Compare) or (isinstance(node, ast.Call) and _has_no_gradients(node)):
        return
    sides = (node.left, node.right) if isinstance(node, ast.BinOp) else ()
    if any(isinstance(each, ast.Call) and called(each) == "numpy" for each in sides):
        return  # an array and noise
    yield node
    parts: list[ast.AST] = list(ast.iter_child_nodes(node))
    if isinstance(node, ast.IfExp):  # its test is read, not returned
        parts = [node.body, node.orelse]
    elif isinstance(node, (ast.ListComp, ast.SetComp, ast.GeneratorExp)):
        parts = [node.elt]
    for part in parts:
        yield from _carrying(part)


def _has_no_gradients(call: ast.Call) -> bool:
    name, is_method = called(call), isinstance(call.func, ast.Attribute)
    if name == "sample":  # of a distribution, without arguments; a policy's may keep its graph
        return is_method and not call.args
    return name in _WITHOUT_GRADIENTS or (name in _NUMBERS and not is_method)


def one_array(source: Source, line: int) -> list[Edit]:
    """`torch.tensor(np.asarray(x))` for a list of arrays."""
    calls = [
        call
        for call in _on_line(source, line)
        if source.called(call) in _TENSORS
        and (data := _given(call, "data")) is not None
        and not _is_array(data)
    ]
    if len(calls) > 1:
        # Any of them may be the one. A list of floats would become another type, if none is given.
        calls = [call for call in calls if any(k.arg == "dtype" for k in call.keywords)]
    numpy = source.imports("numpy") or "np"
    edits = []
    for data in (_given(call, "data") for call in calls):
        if data is not None:
            edits.append(source.replace(data, f"{numpy}.asarray({source.of(data)})"))
    return [*edits, *source.importing("numpy", "np")] if edits else []


def _given(call: ast.Call, name: str) -> ast.expr | None:
    """The first argument of a call, by position or by its name."""
    named = (keyword.value for keyword in call.keywords if keyword.arg == name)
    return call.args[0] if call.args else next(named, None)


def _on_line(source: Source, line: int) -> list[ast.Call]:
    """The calls at a line; those of its whole statement if none is."""
    calls = list(source.at(line, ast.Call))
    own = [call for call in calls if call.lineno <= line <= (call.end_lineno or call.lineno)]
    begin = [call for call in own if call.lineno == line]
    return begin or own or calls


def _is_array(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and called(node) in ("array", "asarray", "stack")


def model_call(source: Source, line: int) -> list[Edit]:
    """`np.asarray(model(x, training=False))` for `model.predict(x)`."""
    numpy = source.imports("numpy") or "np"
    edits = []
    for call in _on_line(source, line):
        data = _given(call, "x")
        known = all(keyword.arg in ("x", "batch_size", "verbose") for keyword in call.keywords)
        if called(call) != "predict" or data is None or len(call.args) > 3 or not known:
            continue
        if isinstance(call.func, ast.Attribute):
            model, x = source.of(call.func.value), source.of(data)
            edits.append(source.replace(call, f"{numpy}.asarray({model}({x}, training=False))"))
    return [*edits, *source.importing("numpy", "np")] if edits else []


def shallow_copy(source: Source, line: int) -> list[Edit]:
    """`copy.copy` for `copy.deepcopy`."""
    for call in source.at(line, ast.Call):
        if source.called(call) == "deepcopy" and len(call.args) == 1:
            copy = source.imports("copy")
            name = f"{copy}.copy" if copy else "copy.copy"
            return [source.replace(call.func, name), *source.importing("copy")]
    return []


def fast_resize(source: Source, line: int) -> list[Edit]:
    """PIL's box filter for one that reads more pixels."""
    for call in source.at(line, ast.Call):
        if called(call) != "resize":
            continue
        for node in ast.walk(call):
            if isinstance(node, ast.Attribute) and node.attr in _SLOW_FILTERS:
                return [source.replace(node, f"{source.of(node.value)}.BOX")]
    return []


def rolling_method(source: Source, line: int) -> list[Edit]:
    """`.rolling(n).mean()` for `.rolling(n).apply(lambda part: part.mean())`."""
    edits = []
    function = source.function_at(line)
    for call in ast.walk(function) if function is not None else ():
        if isinstance(call, ast.Call) and called(call) == "apply" and call.args:
            method = _method_of(call.args[0])
            if method in _ROLLING and isinstance(call.func, ast.Attribute):
                edits.append(source.replace(call, f"{source.of(call.func.value)}.{method}()"))
    return edits


def _method_of(node: ast.AST) -> str:
    """`mean` of `lambda part: part.mean()`."""
    if isinstance(node, ast.Lambda) and isinstance(node.body, ast.Call) and not node.body.args:
        receiver = getattr(node.body.func, "value", None)
        if isinstance(receiver, ast.Name) and receiver.id in [a.arg for a in node.args.args[:1]]:
            return called(node.body)
    return ""


def detached(source: Source, line: int) -> list[Edit]:
    """Values that are carried to the next update lose their graph first.

    `x = a * x + b` in a loop takes `x.detach()`; `losses.append(loss)` keeps `loss.detach()`.
    """
    function = source.function_at(line)
    loops = [n for n in ast.walk(function or source.tree) if isinstance(n, (ast.For, ast.While))]
    edits = []
    for loop, node in ((each, n) for each in loops for n in ast.walk(each)):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if isinstance(node.value, ast.BinOp) and _is_carried(source.tree, loop, node, name):
                edits += _detach_carried(source, node.value, name)
        elif isinstance(node, ast.Call) and called(node) == "append" and len(node.args) == 1:
            argument = node.args[0]
            if isinstance(argument, ast.Name) and argument.id in _backwards(loop):
                edits.append(source.replace(argument, f"{argument.id}.detach()"))
    return list(dict.fromkeys(edits))


def _backwards(loop: ast.AST) -> set[str]:
    """Names of the losses that a loop makes backward passes of."""
    calls = [n for n in ast.walk(loop) if isinstance(n, ast.Call) and called(n) == "backward"]
    receivers = [getattr(call.func, "value", None) for call in calls]
    return {each.id for each in receivers if isinstance(each, ast.Name)}


def _is_carried(tree: ast.AST, loop: ast.AST, assign: ast.Assign, name: str) -> bool:
    """Whether an assignment reads the tensor that the last round of the loop left."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node is not assign and name in _targets(node):
            if isinstance(node.value, ast.Constant):
                return False  # a number has no `detach`
            inside = any(each is node for each in ast.walk(loop))
            if inside and node.lineno < assign.lineno:
                return False  # made again in this round
    return True


def _detach_carried(source: Source, value: ast.AST, name: str) -> list[Edit]:
    for node in ast.walk(value):
        # `carry(x)` as a whole, where a function of the program returns what is carried.
        if isinstance(node, ast.Call) and len(node.args) == 1:
            argument = node.args[0]
            if isinstance(argument, ast.Name) and argument.id == name and not node.keywords:
                return [source.replace(node, f"{source.of(node)}.detach()")]
        if isinstance(node, ast.Name) and node.id == name:
            parent = source.parent(node)
            if isinstance(parent, ast.BinOp):
                return [source.replace(node, f"{name}.detach()")]
    return []
