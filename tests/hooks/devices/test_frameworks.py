"""Devices as the frameworks show them, on stand-ins: the hardware is not here."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from hotloop.hooks.devices.frameworks import TorchCuda, TorchMps, known_devices
from hotloop.measure import machine


def stand_in_torch(hip: str | None = None, held: tuple[int, ...] = (100,)) -> Any:
    def stats(index: int) -> Any:
        return {
            "allocated_bytes": {"all": {"current": held[index]}},
            "reserved_bytes": {"all": {"current": 2 * held[index]}},
        }

    properties = SimpleNamespace(name="A card", total_memory=1000, uuid="12-34")
    return SimpleNamespace(
        version=SimpleNamespace(hip=hip, cuda=None if hip else "13.0"),
        cuda=SimpleNamespace(
            is_initialized=lambda: True,
            device_count=lambda: len(held),
            get_device_properties=lambda index: properties,
        ),
        _C=SimpleNamespace(_cuda_memoryStats=stats),
        autograd=SimpleNamespace(kineto_available=lambda: True),
    )


@pytest.mark.parametrize(("hip", "name"), [(None, "CUDA"), ("6.1", "ROCm")])
def test_cuda_and_rocm_are_one_interface(monkeypatch: Any, hip: str | None, name: str) -> None:
    monkeypatch.setitem(sys.modules, "torch", stand_in_torch(hip))
    device = TorchCuda()
    assert device.in_use()
    assert device.name == name
    assert device.memory() == (100, 200)
    assert device.about() == {"card": "A card", "memory_bytes": 1000, "visible": 1}
    assert device.uuid() == "GPU-12-34"
    assert device.records() is None


def test_of_two_devices_the_one_in_use(monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "torch", stand_in_torch(held=(0, 700)))
    device = TorchCuda()
    assert device.index() == 1
    assert device.used() == 1
    assert device.memory() == (700, 1400)


def test_a_program_that_has_not_begun_to_use_it(monkeypatch: Any) -> None:
    torch = stand_in_torch()
    torch.cuda.is_initialized = lambda: False
    monkeypatch.setitem(sys.modules, "torch", torch)
    assert not TorchCuda().in_use()
    monkeypatch.delitem(sys.modules, "torch")
    assert not TorchCuda().in_use()
    assert not TorchMps().in_use()


def test_mps_says_what_it_cannot(monkeypatch: Any) -> None:
    torch = SimpleNamespace(
        backends=SimpleNamespace(mps=SimpleNamespace(is_available=lambda: True)),
        mps=SimpleNamespace(
            current_allocated_memory=lambda: 10, driver_allocated_memory=lambda: 30
        ),
    )
    monkeypatch.setitem(sys.modules, "torch", torch)
    device = TorchMps()
    assert device.in_use()
    assert device.memory() == (10, 30)
    assert "no activity of an MPS device" in str(device.records())


@pytest.mark.parametrize(
    ("seen", "kinds"),
    [
        ([], []),
        (["CUDA", "CUDA"], ["TorchCuda", "JaxDevice"]),
        (["ROCm"], ["TorchCuda", "JaxDevice"]),
        (["MPS"], ["TorchMps"]),
    ],
)
def test_what_a_machine_may_have(monkeypatch: Any, seen: list[str], kinds: list[str]) -> None:
    monkeypatch.setattr(machine, "accelerators", lambda: seen)
    assert [type(device).__name__ for device in known_devices()] == kinds
    # JAX's card is read from the driver of its maker.
    names = [device.name for device in known_devices() if type(device).__name__ == "JaxDevice"]
    assert names == [kind for kind in ("CUDA", "ROCm") if kind in seen][:1]


# -- transfers --
