"""Devices as the frameworks expose them: torch with CUDA or ROCm, torch with MPS, JAX.

One interface for all (`measure.device_watch.Device`). A device is only queried once the program
itself has begun to use it: a query would start its driver.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from hotloop.capture.schema import Gpu
from hotloop.hooks.devices import jax
from hotloop.hooks.devices.kineto import Kineto
from hotloop.hooks.protocols import Foreign
from hotloop.measure import machine
from hotloop.measure.activity import Activity
from hotloop.measure.cards import AmdCard, CardWatch, NvidiaCard
from hotloop.measure.device_watch import Device


class TorchCuda:
    """A CUDA device, or ROCm's, which torch exposes under the same names."""

    name = "CUDA"

    def __init__(self) -> None:
        self._kineto = Kineto()
        self._stats: Callable[[int], dict[str, Any]] | None = None
        self._about: dict[str, Any] = {}
        self._index: int | None = None

    @staticmethod
    def _cuda() -> Foreign:
        return getattr(sys.modules.get("torch"), "cuda", None)

    def in_use(self) -> bool:
        cuda = self._cuda()
        if cuda is None or not hasattr(cuda, "is_initialized") or not cuda.is_initialized():
            return False
        if getattr(sys.modules["torch"].version, "hip", None):
            self.name = "ROCm"
        return True

    def records(self) -> str | None:
        autograd = sys.modules["torch"].autograd
        if not autograd.kineto_available():
            return "This torch has no Kineto: device activity is not recorded."
        return None

    def risk(self) -> str | None:
        return jax.RISK if jax.uses_a_gpu() else None

    def prepare(self) -> None:
        self._kineto.prepare()

    def start(self) -> None:
        self._kineto.start()

    def settle(self) -> None:
        self._kineto.settle(self.index())

    def stop(self, to_clock_ns: int) -> list[Activity]:
        return self._kineto.stop(to_clock_ns)

    def call_driver(self) -> None:
        # Creates no context on a device that the program does not use, as most calls would.
        sys.modules["torch"]._C._cuda_getDevice()

    def memory(self) -> tuple[int, int] | None:
        stats = self._stats
        if stats is None:
            torch = sys.modules["torch"]
            stats = self._stats = getattr(torch._C, "_cuda_memoryStats", None)
            if stats is None:
                return None
        # The flat table of `torch.cuda.memory_stats` costs ten times as much.
        found = stats(self.index())
        return (
            int(found["allocated_bytes"]["all"]["current"]),
            int(found["reserved_bytes"]["all"]["current"]),
        )

    def index(self) -> int:
        """The device in use: of several, the one that holds the most."""
        if self._index is None:
            held = self._held()
            self._index = held.index(max(held)) if held else 0
        return self._index

    def used(self) -> int:
        """How many devices the program holds memory on."""
        return max(sum(size > 0 for size in self._held()), 1)

    def _held(self) -> list[int]:
        # The current device belongs to a thread, and this is not the program's.
        stats = getattr(sys.modules["torch"]._C, "_cuda_memoryStats", None)
        count = int(self._cuda().device_count())
        if stats is None or count < 2:
            return [1] * count
        return [int(stats(i)["allocated_bytes"]["all"]["current"]) for i in range(count)]

    def about(self) -> dict[str, Any]:
        if not self._about:
            cuda = self._cuda()
            properties = cuda.get_device_properties(self.index())
            self._about = {
                Gpu.card: str(properties.name),
                Gpu.memory_bytes: int(properties.total_memory),
                Gpu.visible: int(cuda.device_count()),
                "uuid": str(getattr(properties, "uuid", "")),
            }
        return {name: value for name, value in self._about.items() if name != "uuid"}

    def uuid(self) -> str:
        """The card's own name, independent of the order of devices."""
        self.about()
        known = str(self._about["uuid"])
        return known if known.startswith("GPU-") or not known else f"GPU-{known}"


class TorchMps:
    """An Apple GPU: memory and transfers; its activity is recorded by nothing but Apple's tools."""

    name = "MPS"

    @staticmethod
    def _mps() -> Foreign:
        return getattr(sys.modules.get("torch"), "mps", None)

    def in_use(self) -> bool:
        torch = sys.modules.get("torch")
        backend = getattr(getattr(torch, "backends", None), "mps", None)
        if backend is None or not backend.is_available():
            return False
        return bool(self._mps().driver_allocated_memory())

    def records(self) -> str | None:
        return (
            "torch records no activity of an MPS device: kernel time, launches and copies are not "
            "known; transfers, synchronizations and memory are."
        )

    def risk(self) -> str | None:
        return None

    def prepare(self) -> None: ...

    def start(self) -> None:
        raise NotImplementedError

    def settle(self) -> None: ...

    def stop(self, to_clock_ns: int) -> list[Activity]:
        raise NotImplementedError

    def call_driver(self) -> None: ...

    def memory(self) -> tuple[int, int] | None:
        mps = self._mps()
        return int(mps.current_allocated_memory()), int(mps.driver_allocated_memory())

    def about(self) -> dict[str, Any]:
        return {Gpu.card: "Apple GPU"}


def cards(device: TorchCuda | jax.JaxDevice) -> CardWatch:
    """The reader of the card behind a device."""
    import time

    def find(uuid: str, index: int) -> NvidiaCard | AmdCard:
        return AmdCard(index) if device.name == "ROCm" else NvidiaCard(uuid, index)

    return CardWatch(find, time.monotonic)


def known_devices() -> list[Device]:
    """Devices that this machine may have, in the order in which they are tried."""
    seen = set(machine.accelerators())
    found: list[Device] = []
    if seen & {"CUDA", "ROCm"}:
        found += [TorchCuda(), jax.JaxDevice("CUDA" if "CUDA" in seen else "ROCm")]
    if "MPS" in seen:
        found.append(TorchMps())
    return found
