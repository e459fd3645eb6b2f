"""GPU cards as their driver reports them: load, memory, power, clocks, about once a second.

NVIDIA's figures come from the driver's own library (NVML) through ctypes, AMD's from files of the
kernel. Nothing is installed, and nothing runs on the card. Figures that a driver does not report
are left out; if nothing can be read, one line of the report says why.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hotloop.capture import schema

ROOT = Path("/")

#: NVML's errors that users can do something about (nvml.h, nvmlReturn_t).
_ANSWERS = {
    3: "this driver does not report it",
    4: "no permission to read it",
    9: "the driver is not loaded",
    15: "the GPU was lost",
    18: "driver and library versions do not match",
    999: "the driver reports an unknown error",
}
_SM_CLOCK = 1
_NAMES = ("libnvidia-ml.so.1", "nvml.dll")


class CardError(Exception):
    """Why a card cannot be read, in a few words."""


@dataclass(frozen=True)
class Reading:
    """One reading of a card; None for values that the driver does not report."""

    #: Share of the last sample period in which at least one kernel ran.
    busy: float | None = None
    memory_bytes: int | None = None
    power_w: float | None = None
    clock_mhz: float | None = None


class _Utilization(ctypes.Structure):
    _fields_ = (("gpu", ctypes.c_uint), ("memory", ctypes.c_uint))


class _Memory(ctypes.Structure):
    _fields_ = (
        ("total", ctypes.c_ulonglong),
        ("free", ctypes.c_ulonglong),
        ("used", ctypes.c_ulonglong),
    )


class NvidiaCard:
    """One card through NVML, found by its UUID or by its number."""

    def __init__(self, uuid: str = "", index: int = 0, library: Any = None) -> None:
        self._nvml = library if library is not None else _load()
        self._ask("nvmlInit_v2")
        count = ctypes.c_uint()
        self._ask("nvmlDeviceGetCount_v2", ctypes.byref(count))
        #: How many cards the machine has; a program may use fewer.
        self.cards = count.value
        self._card = ctypes.c_void_p()
        if not uuid or not self._found("nvmlDeviceGetHandleByUUID", uuid.encode()):
            self._ask("nvmlDeviceGetHandleByIndex_v2", index, ctypes.byref(self._card))

    def read(self) -> Reading:
        """Read the card once; raises if the card is gone."""
        load, memory = _Utilization(), _Memory()
        power, clock = ctypes.c_uint(), ctypes.c_uint()
        seen = [
            self._maybe("nvmlDeviceGetUtilizationRates", ctypes.byref(load)),
            self._maybe("nvmlDeviceGetMemoryInfo", ctypes.byref(memory)),
            self._maybe("nvmlDeviceGetPowerUsage", ctypes.byref(power)),
            self._maybe("nvmlDeviceGetClockInfo", _SM_CLOCK, ctypes.byref(clock)),
        ]
        return Reading(
            load.gpu / 100 if seen[0] else None,
            memory.used if seen[1] else None,
            power.value / 1e3 if seen[2] else None,
            float(clock.value) if seen[3] else None,
        )

    def _found(self, name: str, key: bytes) -> bool:
        return int(getattr(self._nvml, name)(key, ctypes.byref(self._card))) == 0

    def _ask(self, name: str, *arguments: Any) -> None:
        answer = getattr(self._nvml, name)(*arguments)
        if answer:
            raise CardError(_ANSWERS.get(answer, f"NVML returned error {answer}"))

    def _maybe(self, name: str, *arguments: Any) -> bool:
        answer = int(getattr(self._nvml, name)(self._card, *arguments))
        if answer in (9, 15, 999):
            raise CardError(_ANSWERS[answer])
        return answer == 0


def _load() -> Any:
    for name in _NAMES:
        try:
            return ctypes.CDLL(name)
        except OSError:
            continue
    raise CardError("the driver's library (NVML) was not found")


class AmdCard:
    """One card through the files of Linux's amdgpu driver."""

    def __init__(self, index: int = 0, root: Path = ROOT) -> None:
        base = root / "sys/class/drm"
        names = sorted(os.listdir(base)) if base.is_dir() else []
        found = [base / name / "device" for name in names]
        found = [folder for folder in found if (folder / "gpu_busy_percent").exists()]
        if not found:
            raise CardError("the driver shows no card (amdgpu)")
        self.cards = len(found)
        self._folder = found[min(index, len(found) - 1)]

    def read(self) -> Reading:
        """Read the card once."""
        busy = self._number("gpu_busy_percent")
        memory = self._number("mem_info_vram_used")
        power = self._number("hwmon/*/power1_average")
        clock = self._number("hwmon/*/freq1_input")
        if busy is None and memory is None:
            raise CardError("the GPU was lost, or its files cannot be read")
        return Reading(
            busy / 100 if busy is not None else None,
            int(memory) if memory is not None else None,
            power / 1e6 if power is not None else None,
            clock / 1e6 if clock is not None else None,
        )

    def _number(self, name: str) -> float | None:
        for path in self._folder.glob(name):
            try:
                return float(path.read_text(encoding="ascii").split()[0])
            except (OSError, ValueError, IndexError):
                continue
        return None


#: How a card is found: (its UUID, its number) -> the card.
Find = Callable[[str, int], "NvidiaCard | AmdCard"]


class CardWatch:
    """Puts the readings of the card in use into the gauges of each window."""

    def __init__(self, find: Find, clock: Callable[[], float]) -> None:
        self._find = find
        self._clock = clock
        self._card: NvidiaCard | AmdCard | None = None
        self._last = 0.0
        #: Remarks for the report; each line once.
        self.remarks: list[str] = []
        self._off = False

    def read(self, gauges: dict[str, float], uuid: str, index: int, used: int) -> None:
        """Read the card once; an error is reported once and ends the readings."""
        if self._off:
            return
        try:
            if self._card is None:
                self._card = self._find(uuid, index)
                self._last = self._clock()
                if self._card.cards > used:
                    self.remarks.append(
                        f"{self._card.cards} GPUs, {used} in use: load, memory, power "
                        "and clocks are of the one in use."
                    )
            self._write(gauges, self._card.read())
        except (CardError, OSError, AttributeError) as error:
            self._off = True
            for name in (schema.GPU_MEMORY, schema.GPU_POWER_W, schema.GPU_CLOCK_MHZ):
                gauges.pop(name, None)
            self.remarks.append(f"The GPU's load, memory, power and clocks are not known: {error}.")

    def busy_ns(self, busy: float) -> float:
        """A share of the time since the last reading, as an amount that adds up."""
        now = self._clock()
        seconds, self._last = now - self._last, now
        return busy * seconds * 1e9

    def _write(self, gauges: dict[str, float], reading: Reading) -> None:
        if reading.memory_bytes is not None:
            gauges[schema.GPU_MEMORY] = reading.memory_bytes
        if reading.power_w is not None:
            gauges[schema.GPU_POWER_W] = reading.power_w
        if reading.clock_mhz is not None:
            gauges[schema.GPU_CLOCK_MHZ] = reading.clock_mhz
        if reading.busy is not None:
            gauges[schema.GPU_BUSY_NS] = self.busy_ns(reading.busy)
