"""No state of a run at module level: a second run in one process, a fork and a test start empty.

Constants are upper case and types are capitalized, so a lower-case name that a module assigns, or a
``global`` statement, is state. What there is belongs to the process, and says why.
"""

import ast
from collections.abc import Iterator
from pathlib import Path

import hotloop

PACKAGE = Path(hotloop.__file__).parent

OF_THE_PROCESS = {
    "measure/shared.py _profiler": "the profiler that a program's own regions use",
    "__init__.py _profiler": "the same, for the functions below",
    "run/current.py _current": "exits and forks find the session here",
    "run/program.py _replaced": "the script that Python runs belongs to the process",
    "measure/own_threads.py _local": "marks hotloop's own threads for themselves",
    "hooks/redirect.py compiled_types": "what kind of function a type is does not change",
    "hooks/telemetry/attributes.py _names": "a cache: names in the code of classes",
}

#: Modules and functions under another name, and a module that a system lacks.
ALIASES = {
    *("__init__.py profile", "__init__.py count", "__init__.py step"),
    *("capture/own_file.py fcntl", "run/recorder.py resource"),
    *("hooks/install.py _importlib", "run/program.py _run_module_as_main"),
    *("measure/twin/stacks.py modules", "measure/twin/stacks.py get_ident"),
    "measure/core.py _package",
    *("measure/unpatched.py open_file", "capture/lines.py _encode"),
}


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported."""
    for statement in body:
        yield statement
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For)):
            yield from statements(statement.body)
        if isinstance(statement, (ast.If, ast.Try)):
            yield from statements(statement.orelse)
        if isinstance(statement, ast.Try):
            for handler in statement.handlers:
                yield from statements(handler.body)


def variables(tree: ast.Module) -> Iterator[str]:
    """Yield lower-case names that a module assigns, and names that its functions make global."""
    for statement in statements(tree.body):
        targets: list[ast.expr] = []
        if isinstance(statement, ast.Assign):
            targets = statement.targets
        elif isinstance(statement, (ast.AnnAssign, ast.AugAssign)):
            targets = [statement.target]
        names = [node for target in targets for node in ast.walk(target)]
        for node in names:
            stored = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
            if stored and node.id.lstrip("_")[:1].islower() and not node.id.startswith("__"):
                yield node.id
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            yield from node.names


def found() -> set[str]:
    return {
        f"{path.relative_to(PACKAGE).as_posix()} {name}"
        for path in PACKAGE.rglob("*.py")
        for name in variables(ast.parse(path.read_text(encoding="utf-8")))
    }


def test_nothing_of_a_run_is_at_module_level() -> None:
    assert found() - OF_THE_PROCESS.keys() - ALIASES == set()


def test_every_exception_is_needed() -> None:
    assert (OF_THE_PROCESS.keys() | ALIASES) - found() == set()


def test_state_is_recognized() -> None:
    code = "seen = []\nLIMIT = 3\ntry:\n    import x\nexcept ImportError:\n    x = None\n"
    code += "def f():\n    global total\n    total = 1\n"
    assert sorted(variables(ast.parse(code))) == ["seen", "total", "x"]
