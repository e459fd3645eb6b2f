"""When there is a device to watch."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.hooks.context import HookContext
from hotloop.hooks.devices import frameworks as devices
from hotloop.hooks.devices.watching import Watching
from hotloop.measure import machine
from hotloop.measure.profiler import Profiler


def test_a_machine_without_an_accelerator_has_no_watch(monkeypatch: Any) -> None:
    monkeypatch.setattr(machine, "accelerators", list)
    assert Watching.of_this_machine(None, "windows") is None  # type: ignore[arg-type]
    assert devices.known_devices() == []


def test_a_module_that_is_imported_again_is_not_hooked_again(monkeypatch: Any) -> None:
    profiler = pytest.importorskip("torch.autograd.profiler")
    monkeypatch.setattr(machine, "accelerators", lambda: ["CUDA"])
    context = HookContext(Profiler())
    watching = Watching.of_this_machine(context, "windows")
    assert watching is not None
    before = profiler.profile._prepare_trace
    try:
        for _ in range(3):
            for call in context.on_import:
                call("torch")
        assert len(context.undo) == 1
    finally:
        for undo in context.undo:
            undo()
    assert profiler.profile._prepare_trace is before
