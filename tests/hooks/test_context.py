"""The state of one run's hooks: made anew for each run, and nothing of it at module level."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import hotloop.hooks
from hotloop import get_profiler
from hotloop.hooks import LIBRARIES, alter
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import read_table
from hotloop.measure.profiler import Profiler

HOOKS = Path(hotloop.hooks.__file__).parent
PARTS = ("flow", "updates", "steps", "tabular", "networks", "traces", "jitted", "environments",
         "telemetry", "transfers")  # fmt: skip


class Process:
    unnamed = True

    def __init__(self, role: str) -> None:
        self.role = role

    def environment(self) -> dict[str, str]:
        return {}


def test_two_runs_share_nothing() -> None:
    profiler = Profiler()
    first, second = HookContext(profiler), HookContext(profiler)
    for part in PARTS:
        assert getattr(first, part) is getattr(first, part)
        assert getattr(first, part) is not getattr(second, part)


@pytest.mark.parametrize("name", LIBRARIES)
def test_a_table_is_made_for_one_run(name: str) -> None:
    context = HookContext(Profiler())
    first, second = read_table(name, context), read_table(name, HookContext(Profiler()))
    assert first is not second
    assert [str(target) for target in first.targets] == [str(target) for target in second.targets]
    assert not context.undo, "nothing is hooked before it is installed"


def test_alterations_end_with_their_run() -> None:
    def learn() -> None: ...

    profiler = get_profiler()
    plain, decorator = hotloop.profile, profiler.profile_function
    first, second = HookContext(profiler), HookContext(profiler)
    alter.begin(first, ["learn"], ["collect=1ms"], [])
    assert first.altered(learn, "learn") is not learn
    assert second.altered(learn, "learn") is learn
    assert hotloop.profile is profiler.profile is not plain
    first.remove_all()
    assert (hotloop.profile, profiler.profile_function) == (plain, decorator)
    assert profiler.profile == plain


def test_an_error_is_recorded_and_not_raised() -> None:
    context = HookContext(Profiler())
    assert context.guard("a note", lambda: 1 / 0) is None
    assert context.guard("a note", lambda x: x + 1, 1) == 2
    assert "ZeroDivisionError" in context.failures["a note"]


def test_everything_is_removed_the_last_first() -> None:
    context = HookContext(Profiler())
    removed: list[int] = []
    context.undo += [lambda: removed.append(1), lambda: 1 / 0, lambda: removed.append(2)]
    context.remove_all()
    assert removed == [2, 1]
    assert not context.undo


def test_only_a_worker_is_named_by_what_it_does() -> None:
    context = HookContext(Profiler())
    context.name_process("nobody")
    for role, named in (("main", "main"), ("child", "EnvRunner-1")):
        context.process = process = Process(role)
        context.name_process("EnvRunner-1")
        assert process.role == named
    process.unnamed = False
    context.name_process("another", again=False)
    assert process.role == "EnvRunner-1"


def test_no_module_of_hooks_binds_the_profiler_at_import() -> None:
    """A run's state reaches a hook through the context alone."""
    for path in sorted(HOOKS.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            names = {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
            is_binding = isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr))
            assert not (is_binding and "get_profiler" in names), f"{path.name}:{node.lineno}"
