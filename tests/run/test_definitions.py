"""Marks after a script's definitions: called at the right moments, and invisible otherwise."""

from __future__ import annotations

from typing import Any

from hotloop.run.definitions import with_marks

SCRIPT = """\
from __future__ import annotations
import math
class Env:
    def step(self): return 1
def act(): return 2
seen.append("loop")
def late(x: undefined): return x
seen.append(late(3))
"""


def run(source: str) -> tuple[list[Any], dict[str, Any]]:
    seen: list[Any] = []
    scope: dict[str, Any] = {"seen": seen, "__name__": "__main__"}
    code = compile(source, "train.py", "exec")
    exec(with_marks(code, source.encode(), lambda: seen.append("defined")), scope)
    return seen, scope


def test_definitions_are_known_before_the_code_that_uses_them() -> None:
    seen, scope = run(SCRIPT)
    assert seen == ["defined", "loop", "defined", 3]
    # `from __future__ import annotations` still holds.
    assert scope["late"].__annotations__ == {"x": "undefined"}


def test_functions_have_the_code_and_lines_that_python_gives_them() -> None:
    _, marked = run(SCRIPT)
    plain: dict[str, Any] = {"seen": []}
    exec(compile(SCRIPT, "train.py", "exec"), plain)
    for name in ("act", "late"):
        assert marked[name].__code__ == plain[name].__code__
    assert marked["Env"].step.__code__ == plain["Env"].step.__code__


def test_code_without_source_runs_as_it_is() -> None:
    code = compile(SCRIPT, "train.py", "exec")
    assert with_marks(code, None, lambda: None) is code
    assert with_marks(code, b"def broken(:", lambda: None) is code


def test_a_script_that_ends_with_definitions_has_no_mark_after_them() -> None:
    assert run("def f(): pass\n")[0] == []
