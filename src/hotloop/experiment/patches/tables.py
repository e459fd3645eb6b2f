"""Patches of table lookups and repeated work: values taken from arrays, results kept."""

from __future__ import annotations

import ast

from hotloop.experiment.patches.source import Edit, Function, Source, uses

_CACHED = """
def _kept(function):
    \"\"\"The first result for each argument, copied for each caller.\"\"\"

    def call(self, *args):
        results = self.__dict__.setdefault(f"_kept_{function.__name__}", {})
        if args not in results:
            results[args] = function(self, *args)
        return copy.deepcopy(results[args])

    return call
"""


def arrays_for_rows(source: Source, line: int) -> list[Edit]:
    """`df["close"].to_numpy()[t]` for `df.iloc[t]["close"]`: no row is made for one value."""
    function = source.function_at(line)
    if function is None:
        return []
    edits: list[Edit] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and (row := _row_of(node.value)) is not None:
            column = node.slice
            if isinstance(column, ast.Constant) and isinstance(column.value, str):
                edits.append(source.replace(node, _value(source, row, column)))
        elif isinstance(node, ast.Assign) and (row := _row_of(node.value)) is not None:
            edits += _row_variable(source, function, node, row)
    return edits


def _row_of(node: ast.AST) -> ast.Subscript | None:
    """`df.iloc[t]`, by itself."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute):
        return None
    is_row = node.value.attr == "iloc" and not isinstance(node.slice, ast.Tuple)
    return node if is_row else None


def _value(source: Source, row: ast.Subscript, column: ast.expr) -> str:
    assert isinstance(row.value, ast.Attribute)
    table, index = source.of(row.value.value), source.of(row.slice)
    series = f"{table}[{source.of(column)}]"
    if isinstance(row.slice, ast.Slice):
        return f"{series}.iloc[{index}]"  # what follows may need a Series
    return f"{series}.to_numpy()[{index}]"


def _row_variable(
    source: Source, function: ast.AST, assign: ast.Assign, row: ast.Subscript
) -> list[Edit]:
    """`row = df.iloc[t]` whose columns alone are read afterwards."""
    target = assign.targets[0]
    if not isinstance(target, ast.Name) or isinstance(row.slice, ast.Slice):
        return []
    reads = []
    for name in uses(function, target.id):
        if name is target:
            continue
        node = source.parent(name)
        if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Constant):
            return []
        if node.value is not name or not isinstance(node.slice.value, str):
            return []
        reads.append(source.replace(node, _value(source, row, node.slice)))
    if not reads:
        return []
    return [source.replace_lines(assign, []), *reads]


def kept_results(source: Source, line: int) -> list[Edit]:
    """A method that is called with the same arguments again and again, and depends on no state."""
    function = source.function_at(line)
    owner = source.inside(function, ast.ClassDef) if function is not None else None
    if function is None or owner is None or not _is_plain_method(function):
        return []
    if _is_network(owner) or not _depends_on_arguments(owner, function):
        return []
    outermost = next(n for n in source.tree.body if any(each is owner for each in ast.walk(n)))
    return [
        *source.importing("copy"),
        source.before(outermost, [*_CACHED.strip("\n").splitlines(), "", ""]),
        source.before(function, ["@_kept"]),
    ]


def _is_plain_method(function: Function) -> bool:
    arguments = function.args
    is_method = bool(arguments.args) and arguments.args[0].arg == "self"
    returns = any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(function))
    return (
        is_method
        and returns
        and not (arguments.vararg or arguments.kwarg or arguments.kwonlyargs)
        and not function.decorator_list
        and function.name not in ("step", "reset", "render")
        and not function.name.startswith("__")
    )


def _is_network(owner: ast.ClassDef) -> bool:
    """Whether an optimizer changes what this class holds."""
    bases = {n.attr if isinstance(n, ast.Attribute) else getattr(n, "id", "") for n in owner.bases}
    return not bases.isdisjoint(("Module", "Model", "Layer"))


def _depends_on_arguments(owner: ast.ClassDef, function: Function) -> bool:
    """Whether equal arguments give equal results, by what a method and those it calls read."""
    methods = {each.name: each for each in owner.body if isinstance(each, Function)}
    fixed = _set_once(owner, methods) - _changed_attributes(owner)
    todo, seen = [function], {function.name}
    while todo:
        method = todo.pop()
        called_directly = {n.func for n in ast.walk(method) if isinstance(n, ast.Call)}
        if _draws(method) or _passes_self_on(method):
            return False
        for node in ast.walk(method):
            if not isinstance(node, ast.Attribute) or not _is_self(node):
                continue
            if node.attr in methods and node.attr not in seen:
                seen.add(node.attr)
                todo.append(methods[node.attr])
            elif node.attr not in methods and (node.attr not in fixed or node in called_directly):
                return False  # of a base class, or an object whose state is not known
    return True


def _passes_self_on(method: Function) -> bool:
    """Whether a method hands its whole object to somebody, who may read any state."""
    owned = {n.value for n in ast.walk(method) if isinstance(n, ast.Attribute)}
    names = (n for n in ast.walk(method) if isinstance(n, ast.Name) and n.id == "self")
    return any(name not in owned for name in names)


def _set_once(owner: ast.ClassDef, methods: dict[str, Function]) -> set[str]:
    """Attributes that the class or its `__init__` sets."""
    begin = list(ast.walk(methods["__init__"])) if "__init__" in methods else []
    names = {n.attr for n in begin if isinstance(n, ast.Attribute) and _is_self(n)}
    for each in owner.body:
        if isinstance(each, (ast.Assign, ast.AnnAssign)):
            names |= {n.id for n in ast.walk(each) if isinstance(n, ast.Name)}
    return names


def _changed_attributes(owner: ast.ClassDef) -> set[str]:
    """Attributes of `self` that anything but `__init__` may change."""
    changed: set[str] = set()
    for method in owner.body:
        if not isinstance(method, Function) or method.name == "__init__":
            continue
        for node in ast.walk(method):
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                changed.add(node.attr)
            base = node.value if isinstance(node, (ast.Subscript, ast.Attribute)) else None
            stores = isinstance(getattr(node, "ctx", None), ast.Store)
            if isinstance(base, ast.Attribute) and (stores or _is_called(method, node)):
                changed.add(base.attr)
    return changed


def _is_called(method: ast.AST, node: ast.AST) -> bool:
    """Whether this is `self.x.append` of `self.x.append(...)`: it may change `self.x`."""
    mutating = ("append", "extend", "insert", "pop", "clear", "update", "add", "remove", "fill")
    if not isinstance(node, ast.Attribute) or node.attr not in mutating:
        return False
    return any(isinstance(n, ast.Call) and n.func is node for n in ast.walk(method))


def _draws(function: Function) -> bool:
    """Whether it may draw random numbers or read a clock: its results are not its arguments'."""
    names = {n.attr for n in ast.walk(function) if isinstance(n, ast.Attribute)}
    names |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name)}
    parts = ("random", "rng", "time", "open")
    return "sample" in names or any(part in name for name in names for part in parts)


def _is_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"
