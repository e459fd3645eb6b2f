"""Resident memory of this process: now, and the exact peak inside a region.

Linux keeps a high-water mark that can be reset, so a region gets its true peak, not
the peak of samples. Elsewhere the peak is the larger of the values at entry and exit.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from hotloop.measure.unpatched import open_file

_PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def resident_bytes() -> int:
    """Bytes of this process in memory now; 0 if that cannot be read."""
    if sys.platform.startswith("linux"):
        try:
            with open_file("/proc/self/statm", "rb") as statm:
                return int(statm.read().split()[1]) * _PAGE
        except (OSError, ValueError, IndexError):
            return 0
    try:
        import psutil  # optional; often installed, by Ray or SB3's extras
    except ImportError:
        return 0
    return int(psutil.Process().memory_info().rss)


def _high_water_bytes() -> int:
    try:
        with open_file("/proc/self/status", "rb") as status:
            for line in status:
                if line.startswith(b"VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return 0


def _reset_high_water() -> None:
    try:
        # 5 resets the high-water mark to the current value (man 5 proc).
        with open_file("/proc/self/clear_refs", "wb") as clear:
            clear.write(b"5")
    except OSError:
        pass


class MemoryPeaks:
    """Exact peaks of the regions that ask for them, nested ones included.

    There is one high-water mark for the whole process. So whenever it is about to be reset,
    its value is first passed to every open region.
    """

    def __init__(self) -> None:
        self._open: list[list[int]] = []
        #: Name -> (highest peak, largest increase within one call).
        self.cpu_bytes: dict[str, tuple[int, int]] = {}
        self.gpu_bytes: dict[str, int] = {}
        #: Regions that are open, of all threads: torch keeps one mark for the process.
        self.gpu_open: list[_GpuPeak] = []

    def begin(self) -> list[int]:
        self._fold()
        _reset_high_water()
        resident = resident_bytes()
        peak = [resident, resident]
        self._open.append(peak)
        return peak

    def end(self, name: str, peak: list[int]) -> None:
        self._fold()
        self._open = [other for other in self._open if other is not peak]
        highest, most_added = self.cpu_bytes.get(name, (0, 0))
        self.cpu_bytes[name] = (max(highest, peak[0]), max(most_added, peak[0] - peak[1]))

    def _fold(self) -> None:
        seen = max(_high_water_bytes(), resident_bytes())
        for peak in self._open:
            peak[0] = max(peak[0], seen)


class MemoryRegion:
    """A region that also records its exact memory peak; created for each `with`."""

    __slots__ = ("_gpu", "_peak", "_peaks", "_region")

    def __init__(self, region: Any, peaks: MemoryPeaks) -> None:
        self._region = region
        self._peaks = peaks
        self._peak: list[int] = []

    def __enter__(self) -> MemoryRegion:
        # Outside the region, so that reading /proc is not charged to it.
        self._peak = self._peaks.begin()
        self._gpu = _GpuPeak.begin(self._peaks)
        self._region.enter()
        return self

    def __exit__(self, *_: object) -> None:
        self._region.exit()
        self._peaks.end(self._region.name, self._peak)
        if self._gpu is not None:
            known = self._peaks.gpu_bytes.get(self._region.name, 0)
            self._peaks.gpu_bytes[self._region.name] = max(known, self._gpu.end())


class _GpuPeak:
    """torch's own peak of allocated device memory, when the program uses torch with CUDA.

    Nested regions share torch's one mark: an inner region resets it, so it passes its value
    to those around it.
    """

    def __init__(self, cuda: Any, peaks: MemoryPeaks) -> None:
        self._cuda = cuda
        self._peaks = peaks
        self._peak = 0
        self._fold()
        cuda.reset_peak_memory_stats()
        peaks.gpu_open.append(self)

    @classmethod
    def begin(cls, peaks: MemoryPeaks) -> _GpuPeak | None:
        torch = sys.modules.get("torch")
        cuda = getattr(torch, "cuda", None)
        if cuda is None or not cuda.is_initialized():
            return None
        return cls(cuda, peaks)

    def _fold(self) -> None:
        seen = int(self._cuda.max_memory_allocated())
        for outer in self._peaks.gpu_open:
            outer._peak = max(outer._peak, seen)

    def end(self) -> int:
        self._fold()
        self._peaks.gpu_open = [each for each in self._peaks.gpu_open if each is not self]
        return self._peak
