"""Patches of table lookups and repeated work: values taken from arrays, results kept."""

from __future__ import annotations

import ast

from hotloop.experiment.patches.source import Edit, Function, Source, called, uses

#: Attributes of a row itself: `row.size` is not the column of that name.
_OF_SERIES = """
    T abs add add_prefix add_suffix agg aggregate align all any apply argmax argmin argsort
    array asfreq asof astype at at_time attrs autocorr axes backfill between between_time bfill
    bool case_when cat clip combine combine_first compare convert_dtypes copy corr count cov
    cummax cummin cumprod cumsum describe diff div divide divmod dot drop drop_duplicates
    droplevel dropna dt dtype dtypes duplicated empty eq equals ewm expanding explode factorize
    ffill fillna filter first first_valid_index flags floordiv ge get groupby gt hasnans head
    hist iat idxmax idxmin iloc index infer_objects info interpolate is_monotonic_decreasing
    is_monotonic_increasing is_unique isin isna isnull item items keys kurt kurtosis last
    last_valid_index le list loc lt map mask max mean median memory_usage min mod mode mul
    multiply name nbytes ndim ne nlargest notna notnull nsmallest nunique pad pct_change pipe
    plot pop pow prod product quantile radd rank ravel rdiv rdivmod reindex reindex_like rename
    rename_axis reorder_levels repeat replace resample reset_index rfloordiv rmod rmul rolling
    round rpow rsub rtruediv sample searchsorted sem set_axis set_flags shape shift size skew
    sort_index sort_values sparse squeeze std str struct sub subtract sum swapaxes swaplevel
    tail take to_clipboard to_csv to_dict to_excel to_frame to_hdf to_json to_latex to_list
    to_markdown to_numpy to_period to_pickle to_sql to_string to_timestamp to_xarray tolist
    transform transpose truediv truncate tz_convert tz_localize unique unstack update
    value_counts values var view where xs
"""
#: Attributes that give a part of a table: assigning an item to it changes the table.
_PARTS = ("at", "iat", "iloc", "loc", "values")
#: Calls that give the same each time.
_REPEATABLE = ("int", "len", "max", "min")

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
    """`df["close"].to_numpy()[t]` for `df.iloc[t]["close"]`: no row is made for one value.

    So for `df["close"].iloc[t]`, and for `df.loc[t, "close"]`, whose labels are positions in a
    table with the default index: with another one, the weights show the difference.
    """
    function = source.function_at(line)
    if function is None:
        return []
    edits: list[Edit] = []
    for node in ast.walk(function):
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            edits += _single_value(source, node)
        elif isinstance(node, ast.Assign) and (row := _row_of(node.value)) is not None:
            edits += _row_variable(source, function, node, row)
    return edits


def _single_value(source: Source, node: ast.Subscript) -> list[Edit]:
    """The edit of an expression for one value of a table, if it is one."""
    row, column = _row_of(node.value), node.slice
    if row is not None and _is_text(column):
        return [source.replace(node, _value(source, row, source.of(column)))]
    if not isinstance(node.value, ast.Attribute):
        return []
    how, table = node.value.attr, node.value.value
    if how in ("loc", "at") and isinstance(column, ast.Tuple) and len(column.elts) == 2:
        index, name = column.elts
        if _is_text(name) and not isinstance(index, (ast.Slice, ast.Constant)):
            series = f"{source.of(table)}[{source.of(name)}]"
            return [source.replace(node, f"{series}.to_numpy()[{source.of(index)}]")]
    of_column = isinstance(table, ast.Subscript) and _is_text(table.slice)
    if how in ("iloc", "iat") and of_column and not isinstance(column, ast.Slice):
        return [source.replace(node.value, f"{source.of(table)}.to_numpy()")]
    return []


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _row_of(node: ast.AST) -> ast.Subscript | None:
    """`df.iloc[t]`, by itself."""
    if not isinstance(node, ast.Subscript) or not isinstance(node.value, ast.Attribute):
        return None
    is_row = node.value.attr == "iloc" and not isinstance(node.slice, ast.Tuple)
    of_column = isinstance(node.value.value, ast.Subscript)
    return node if is_row and not of_column else None


def _value(source: Source, row: ast.Subscript, column: str) -> str:
    assert isinstance(row.value, ast.Attribute)
    table, index = source.of(row.value.value), source.of(row.slice)
    if isinstance(row.slice, ast.Slice):
        return f"{table}[{column}].iloc[{index}]"  # what follows may need a Series
    return f"{table}[{column}].to_numpy()[{index}]"


def _row_variable(
    source: Source, function: ast.AST, assign: ast.Assign, row: ast.Subscript
) -> list[Edit]:
    """`row = df.iloc[t]` whose columns alone are read afterwards."""
    target = assign.targets[0]
    if not isinstance(target, ast.Name) or isinstance(row.slice, ast.Slice):
        return []
    names = [name for name in uses(function, target.id) if name is not target]
    columns = [_column(source, name) for name in names]
    if not columns or not all(columns) or not _stays(source, function, assign, row, names):
        return []
    values = [_value(source, row, column) for column in columns]
    nodes = [source.parent(name) or name for name in names]
    reads = [source.replace(node, value) for node, value in zip(nodes, values, strict=True)]
    return [source.replace_lines(assign, []), *reads]


def _column(source: Source, row: ast.Name) -> str:
    """The column read from a row, as written; empty if the row is used in another way."""
    node = source.parent(row)
    if not isinstance(getattr(node, "ctx", None), ast.Load):
        return ""
    if isinstance(node, ast.Attribute):  # row.close, but not row.values or row.sum()
        call = source.parent(node)
        is_called = isinstance(call, ast.Call) and call.func is node
        is_own = is_called or node.attr in _OF_SERIES.split() or node.attr.startswith("_")
        return "" if is_own else repr(node.attr)
    is_item = isinstance(node, ast.Subscript) and node.value is row and _is_text(node.slice)
    return source.of(node.slice) if is_item and isinstance(node, ast.Subscript) else ""


def _stays(
    source: Source,
    function: ast.AST,
    assign: ast.Assign,
    row: ast.Subscript,
    reads: list[ast.Name],
) -> bool:
    """Whether an expression for a row gives the same row where its columns are read."""
    parts = [n for n in ast.walk(row) if isinstance(n, (ast.Name, ast.Attribute))]
    calls = [n for n in ast.walk(row) if isinstance(n, ast.Call)]
    begin, last = _position(assign), max(map(_position, reads))
    if any(_position(each) < begin for each in reads):
        return False  # a row of the loop's last round
    if not all(called(each) in _REPEATABLE for each in calls):
        return False
    in_loop = source.inside(assign, ast.For) or source.inside(assign, ast.While)
    later = [n for n in ast.walk(function) if begin < _position(n) and n not in parts]
    if not in_loop:
        later = [n for n in later if _position(n) <= last]
    names = {called(n) for n in later if isinstance(n, ast.Call)}
    methods = [n for n in ast.walk(source.tree) if isinstance(n, Function) and n.name in names]
    later += [n for method in methods for n in ast.walk(method)]
    changed = {text for node in later for text in _changed(source, node)}
    return changed.isdisjoint(source.of(n) for n in parts)


def _position(node: ast.AST) -> tuple[int, int]:
    return getattr(node, "lineno", 0), getattr(node, "col_offset", 0)


def _changed(source: Source, node: ast.AST) -> list[str]:
    """The expression that an assignment to this node changes."""
    if isinstance(getattr(node, "ctx", None), ast.Load) or not hasattr(node, "ctx"):
        return []
    if not isinstance(node, ast.Subscript):
        return [source.of(node)]
    part = node.value
    whole = [part.value] if isinstance(part, ast.Attribute) and part.attr in _PARTS else []
    return [source.of(each) for each in (node, part, *whole)]


def kept_results(source: Source, line: int) -> list[Edit]:
    """A method that is called with the same arguments again and again, and depends on no state.

    It is the one with the line, or the first that it leads to: `reset` has state, what it loads
    has not.
    """
    at_line = source.function_at(line)
    owner = source.inside(at_line, ast.ClassDef) if at_line is not None else None
    if at_line is None or owner is None or _is_network(owner):
        return []
    reached = [each for each in _reached(owner, at_line) if _is_plain_method(each)]
    function = next((each for each in reached if _depends_on_arguments(owner, each)), None)
    if function is None:
        return []
    outermost = next(n for n in source.tree.body if any(each is owner for each in ast.walk(n)))
    return [
        *source.importing("copy"),
        source.before(outermost, [*_CACHED.strip("\n").splitlines(), "", ""]),
        source.before(function, ["@_kept"]),
    ]


def _reached(owner: ast.ClassDef, function: Function) -> list[Function]:
    """A method and those of its class that it calls, the nearest first."""
    methods = {each.name: each for each in owner.body if isinstance(each, Function)}
    found = [function]
    for method in found:
        nodes = [n for n in ast.walk(method) if isinstance(n, ast.Attribute) and _is_self(n)]
        names = [n.attr for n in sorted(nodes, key=lambda n: (n.lineno, n.col_offset))]
        found += [methods[n] for n in dict.fromkeys(names) if methods.get(n) not in (None, *found)]
    return found


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
    """Whether a method passes its whole object on, so that any state may be read."""
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
