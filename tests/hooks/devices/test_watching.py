"""When there is a device to watch."""

from __future__ import annotations

from typing import Any

from hotloop.hooks.devices import frameworks as devices
from hotloop.measure import machine


def test_a_machine_without_an_accelerator_has_no_watch(monkeypatch: Any) -> None:
    from hotloop.hooks.devices.watching import Watching

    monkeypatch.setattr(machine, "accelerators", list)
    assert Watching.of_this_machine(None, "windows") is None  # type: ignore[arg-type]
    assert devices.known_devices() == []
