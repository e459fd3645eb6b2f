"""Devices and recordings of JAX."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hotloop.hooks.devices import jax as jax_device
from hotloop.hooks.devices.frameworks import TorchCuda
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


def on_a_gpu(monkeypatch: Any, visible: str, *numbers: int) -> jax_device.JaxDevice:
    found = [SimpleNamespace(platform="gpu", local_hardware_id=number) for number in numbers]
    fake = SimpleNamespace(devices=lambda: found, local_devices=lambda: found)
    monkeypatch.setitem(sys.modules, "jax", fake)
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", SimpleNamespace(_backends={"gpu": 1}))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    return jax_device.JaxDevice()


@pytest.mark.parametrize(
    ("visible", "number", "uuid", "index"),
    [
        ("", 2, "", 2),
        ("3,5", 1, "", 5),
        ("GPU-12ab,GPU-34cd", 1, "GPU-34cd", 1),
        ("3", 1, "", 1),  # more devices than the environment shows: JAX's own count
    ],
)
def test_its_card_is_found_as_the_driver_counts(
    monkeypatch: Any, visible: str, number: int, uuid: str, index: int
) -> None:
    device = on_a_gpu(monkeypatch, visible, number)
    assert device.in_use()
    assert (device.uuid(), device.index(), device.used()) == (uuid, index, 1)


def test_a_jax_without_a_backend_uses_no_gpu(monkeypatch: Any) -> None:
    """Torch's device is watched all the same."""

    def devices() -> None:
        raise RuntimeError("Unable to initialize backend 'cuda'")

    monkeypatch.setitem(sys.modules, "jax", SimpleNamespace(devices=devices))
    monkeypatch.setitem(sys.modules, "jax._src.xla_bridge", SimpleNamespace(_backends={"cpu": 1}))
    assert not jax_device.JaxDevice().in_use()
    assert TorchCuda().risk() is None


def test_recordings_would_risk_its_compiled_loops(monkeypatch: Any) -> None:
    """Those of torch too: the tracer is the same, and detaches from the whole process."""
    assert TorchCuda().risk() is None
    device = on_a_gpu(monkeypatch, "", 0)
    assert device.risk() == TorchCuda().risk() == jax_device.RISK
