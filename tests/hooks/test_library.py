"""What a library's table is made of."""

from __future__ import annotations

from hotloop import Profiler
from hotloop.hooks import LIBRARIES
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import every, once, read_table


def test_overrides_are_hooked_by_every_and_not_by_once() -> None:
    assert every("envs", "Env.step", "env.step").overrides
    assert not once("io", "save", "checkpoint").overrides
    assert every("envs", "Env.step", "env.step").outermost
    assert str(once("io", "save", "checkpoint")) == "io.save"


def test_a_file_may_hold_several_tables() -> None:
    several = [name for name in LIBRARIES if ":" in name]
    context = HookContext(Profiler())
    titles = {read_table(name, context).title for name in several}
    assert len(titles) == len(several) > 1
