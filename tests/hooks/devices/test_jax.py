"""Devices and recordings of JAX."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

from hotloop.hooks.devices import jax as jax_device
from hotloop.measure.activity import COPY_CALL, KERNEL, LAUNCH, TO_HOST


def test_a_recording_of_jax() -> None:
    """As JAX 0.11 gave it on a real card, a few events of it."""

    def event(name: str, begin: float, length: float, **stats: Any) -> Any:
        return SimpleNamespace(name=name, start_ns=begin, duration_ns=length, stats=stats.items())

    def plane(name: str, *events: Any, **stats: Any) -> Any:
        return SimpleNamespace(
            name=name, stats=stats.items(), lines=[SimpleNamespace(events=list(events))]
        )

    details = "kind_src:device kind_dst:pinned size:4 dest:0 async:1"
    data = SimpleNamespace(
        planes=[
            plane("/host:metadata", process_id=598),
            plane(
                "/device:GPU:0",
                event("gemm_fusion_dot_5", 9800.0, 2720.0, correlation_id=1),
                event("MemcpyD2H", 10684.0, 1632.0, correlation_id=6, memcpy_details=details),
            ),
            plane(
                "/host:CPU",
                event("PjitFunction(f)", 9515.0, 351.0),
                event("cuGraphLaunch", 9600.0, 90.0, correlation_id=1),
                event("MemcpyD2H", 10666.0, 22.0, correlation_id=6, memcpy_details=details),
            ),
            plane("Task Environment", profile_start_time=1_000_000),
        ]
    )
    found = jax_device.activities_of(data, -400_000)
    assert [each.kind for each in found] == [KERNEL, TO_HOST, LAUNCH, COPY_CALL]
    assert found[0].begin_ns == 609_800
    assert found[1].bytes == 4


def test_jax_is_not_asked_before_it_has_devices(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(devices=lambda: 1 / 0))
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", SimpleNamespace(_backends={}))
    assert not jax_device.JaxDevice().in_use()
