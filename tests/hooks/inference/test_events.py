"""Constants that the native module and Python share, and a run without the native module."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from hotloop import Profiler, histogram, phases
from hotloop.capture import episodes, sample_modes, slices
from hotloop.hooks.inference import events, returns
from hotloop.hooks.inference.gaps import Flow
from hotloop.hooks.inference.updates import NoUpdates
from hotloop.measure import twin
from hotloop.measure.twin import core, stacks


@pytest.mark.parametrize(
    "module",
    [events, returns, phases, histogram, core, stacks, episodes, sample_modes],
)
def test_constants_are_those_of_the_native_module(module: Any) -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    numbers = [name for name, value in vars(module).items() if isinstance(value, int)]
    shared = [name for name in numbers if name.isupper() and hasattr(native, name)]
    assert shared
    assert {name: getattr(module, name) for name in shared} == {
        name: getattr(native, name) for name in shared
    }


def test_a_slice_on_disk_has_the_size_of_the_native_one() -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    assert slices.SLICE.size == native.SLICE_BYTES


def test_every_event_is_exported() -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    names = ("STEP", "ADD", "SAMPLE", "ACT", "FORWARD", "BACKWARD", "OPTIMIZER", "PREPARE")
    names += ("INFERENCE", "SCORE", "REFERENCE")
    assert [getattr(native, name) for name in names] == list(range(events.EVENTS))


def test_kinds_of_episodes_are_in_the_native_order() -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    numbers = [getattr(native, kind.upper()) for kind in episodes.KINDS]
    assert numbers == list(range(len(episodes.KINDS)))


def test_the_stand_ins_have_all_that_the_native_parts_have() -> None:
    native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
    for real, stand_in in ((native.EventOrder, events.NoEvents()), (native.Updates, NoUpdates())):
        public = [name for name in vars(real) if not name.startswith("_")]
        assert [name for name in public if not hasattr(stand_in, name)] == []


def test_updates_are_counted_while_hooks_rest() -> None:
    """As gradient steps are: one divided by the other is how many there are in succession."""
    pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")

    def head() -> None: ...

    profiler = Profiler()
    core: Any = profiler.core
    core.enable()
    core.attach(head, lambda original: core.region("collect").wrap(original))
    flow = Flow(profiler)
    flow.stepped(1)
    core.stretches("collect", 0, 1, 1000, ["collect"], frozenset())
    head()
    assert core.resting
    for _ in range(3):
        for _ in range(20):
            flow.happened(events.OPTIMIZER)
        flow.stepped(1)
    assert core.snapshot()[2]["learn_events"] == 3


def test_without_the_native_module_nothing_is_inferred(monkeypatch: Any) -> None:
    from hotloop.measure import profiler as profilers

    monkeypatch.setattr(profilers, "Core", twin.Core)
    flow = Flow(Profiler())
    flow.stepped(4)
    flow.happened(events.BACKWARD)
    assert (flow.envs, flow.order.active) == (4, False)
    assert flow.purpose(1, True, 64) == events.FORWARD


def test_a_program_is_measured_without_the_native_module(
    profile: Callable[..., Any], monkeypatch: Any
) -> None:
    pytest.importorskip("gymnasium")
    monkeypatch.setenv("HOTLOOP_PURE", "1")
    run = profile(Path(__file__).parents[1] / "own_programs" / "tabular.py")
    assert run.counter("env_steps") > 0
    assert "env.step" in run.paths
    assert events.NEEDS_NATIVE in json.dumps(run.report)
