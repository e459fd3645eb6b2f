"""Patches of single calls: the statement stays, one call in it changes."""

from __future__ import annotations

import ast

from hotloop.experiment.patches.source import Edit, Source, called

_TENSORS = ("tensor", "as_tensor", "FloatTensor", "Tensor", "LongTensor")
#: What these return has no gradients, whatever they are called on.
_WITHOUT_GRADIENTS = ("argmax", "detach", "item", "multinomial", "numpy", "tensor", "tolist")
#: The same of these, if they are Python's own: `x.float()` keeps its graph.
_NUMBERS = ("float", "int")
#: PIL's filters that look at many pixels for each new one.
_SLOW_FILTERS = ("LANCZOS", "BICUBIC", "ANTIALIAS", "HAMMING")
#: Methods of a rolling window that pandas has itself.
_ROLLING = ("mean", "max", "min", "sum", "std", "var", "median")


def no_grad(source: Source, line: int) -> list[Edit]:
    """`with torch.no_grad():` around the statement that acts."""
    torch = source.imports("torch")
    for call in source.at(line, ast.Call):
        statement = source.statement(call)
        if torch is None or not isinstance(statement, (ast.Assign, ast.Expr, ast.Return)):
            continue
        if not source.owns_lines(statement) or _is_learned_from(source, statement):
            continue
        lines = source.text.split("\n")[statement.lineno - 1 : statement.end_lineno]
        indent = source.indent(statement)
        deeper = "\t" if "\t" in indent else "    "
        body = [deeper + each.removeprefix(indent) for each in lines]
        return [source.replace_lines(statement, [f"with {torch}.no_grad():", *body])]
    return []


def _is_learned_from(source: Source, statement: ast.Assign | ast.Expr | ast.Return) -> bool:
    """Whether what a statement assigns reaches a backward pass: it needs its gradients."""
    if statement.value is None or not _with_gradients(statement.value):
        return False
    if isinstance(statement, ast.Return):
        return True  # the caller may learn from it
    tree = source.function_at(statement.lineno) or source.tree
    assigns = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign))]
    reached, before = _targets(statement), -1
    while len(reached) > before:
        before = len(reached)
        for each in assigns:
            if _with_gradients(each.value) & reached:
                reached |= _targets(each)
    return any(_needs_gradients(node) & reached for node in ast.walk(tree))


def _needs_gradients(node: ast.AST) -> set[str]:
    """Names whose gradients a backward pass needs, here or in a caller."""
    if isinstance(node, ast.Return) and node.value is not None:
        return _with_gradients(node.value)
    is_backward = isinstance(node, ast.Call) and called(node) in ("backward", "grad")
    return _with_gradients(node) if is_backward else set()


def _targets(statement: ast.stmt) -> set[str]:
    """Names that a statement assigns."""
    return {
        node.id
        for node in ast.walk(statement)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }


def _with_gradients(node: ast.AST) -> set[str]:
    """Names whose gradients a value may carry on."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Call) and _has_no_gradients(node):
        return set()
    return {name for child in ast.iter_child_nodes(node) for name in _with_gradients(child)}


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
        if called(call) in _TENSORS and call.args and not _is_array(call.args[0])
    ]
    if len(calls) > 1:
        # Any of them may be the one. A list of floats would become another type, if none is given.
        calls = [call for call in calls if any(k.arg == "dtype" for k in call.keywords)]
    numpy = source.imports("numpy") or "np"
    edits = []
    for call in calls:
        argument = source.of(call.args[0])
        if argument.startswith("list(") and argument.endswith(")"):
            argument = argument[5:-1]
        edits.append(source.replace(call.args[0], f"{numpy}.asarray({argument})"))
    return [*edits, *source.importing("numpy", "np")] if edits else []


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
        if called(call) == "predict" and len(call.args) == 1 and _only(call, "verbose"):
            assert isinstance(call.func, ast.Attribute)
            model, x = source.of(call.func.value), source.of(call.args[0])
            edits.append(source.replace(call, f"{numpy}.asarray({model}({x}, training=False))"))
    return [*edits, *source.importing("numpy", "np")] if edits else []


def _only(call: ast.Call, *names: str) -> bool:
    return all(keyword.arg in names for keyword in call.keywords)


def shallow_copy(source: Source, line: int) -> list[Edit]:
    """`copy.copy` for `copy.deepcopy`."""
    for call in source.at(line, ast.Call):
        if called(call) == "deepcopy" and len(call.args) == 1:
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
            assert isinstance(call.func, ast.Attribute)
            if method in _ROLLING:
                edits.append(source.replace(call, f"{source.of(call.func.value)}.{method}()"))
    return edits


def _method_of(node: ast.AST) -> str:
    """`mean` of `lambda part: part.mean()`."""
    if isinstance(node, ast.Lambda) and isinstance(node.body, ast.Call) and not node.body.args:
        receiver = getattr(node.body.func, "value", None)
        if isinstance(receiver, ast.Name) and receiver.id == node.args.args[0].arg:
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
            if isinstance(argument, ast.Name) and "loss" in argument.id:
                edits.append(source.replace(argument, f"{argument.id}.detach()"))
    return list(dict.fromkeys(edits))


def _is_carried(tree: ast.AST, loop: ast.AST, assign: ast.Assign, name: str) -> bool:
    """Whether an assignment reads the tensor that the last round of the loop left."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign) and node is not assign and name in _targets(node):
            if isinstance(node.value, ast.Constant):
                return False  # a number has no `detach`
            inside = any(each is node for each in ast.walk(loop))
            if inside and node.lineno < assign.lineno:
                return False  # made anew in this round
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
