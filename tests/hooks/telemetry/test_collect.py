"""Telemetry: collected in real programs, and leaving these as they are."""

from __future__ import annotations

import gc
import warnings
from time import thread_time

import pytest

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
from hotloop.hooks.telemetry.collect import Telemetry
from hotloop.measure import machine
from hotloop.measure.profiler import Profiler


def test_everything_is_taken_off_again() -> None:
    collect, show = gc.collect, warnings._showwarnmsg  # type: ignore[attr-defined]
    profiler = Profiler()
    hooks = Hooks(HookContext(profiler), {})
    hooks.context.telemetry.install()
    core = profiler.core
    assert gc.collect is collect  # hooked in place
    assert core.original(collect) is not collect
    assert gc.collect(0) >= 0
    hooks.uninstall()
    assert gc.collect is collect
    assert core.original(collect) is collect
    assert warnings._showwarnmsg is show  # type: ignore[attr-defined]


def test_a_fact_that_fails_is_dropped_and_named() -> None:
    profiler = Profiler()
    hooks = Hooks(HookContext(profiler), {})
    telemetry = Telemetry(hooks.context)
    calls = []

    def broken() -> None:
        calls.append(1)
        raise RuntimeError("no such file")

    telemetry.add(read=broken)
    telemetry.read()
    telemetry.read()
    assert len(calls) == 1
    assert any("no such file" in error for error in hooks.failures.values())


@pytest.mark.skipif(machine.run_times() is None, reason="needs Linux's scheduler statistics")
def test_the_last_window_knows_what_the_main_thread_used() -> None:
    profiler = Profiler()
    telemetry = Telemetry(HookContext(profiler))
    telemetry.read()
    before = profiler.gauges[schema.MAIN_CPU_S]
    while thread_time() < before + 0.02:
        pass
    telemetry.end()
    assert profiler.gauges[schema.MAIN_CPU_S] >= before + 0.01
