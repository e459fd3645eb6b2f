"""The machine: cores, container limits, memory, accelerators.

Everything is read from system files; no library is loaded and nothing is started. Values that a
system does not report are None. Tests pass a `root` in place of `/`.
"""

from __future__ import annotations

import os
import platform
import sys
from dataclasses import dataclass
from pathlib import Path

from hotloop.measure.core import Sampler
from hotloop.measure.unpatched import getpid, listdir, open_file

ROOT = Path("/")

#: cgroup v1 writes a number of this size if there is no limit.
_NO_LIMIT = 1 << 60


@dataclass(frozen=True)
class Throttling:
    """How often and how long a container was throttled by its CPU quota."""

    periods: int
    throttled: int
    seconds: float


def boot_id() -> str | None:
    """Which start of the system this is: processes with the same one share a monotonic clock."""
    try:
        return (ROOT / "proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except OSError:
        return None


def affinity_cores() -> int:
    """Cores that this process may run on."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def cpu_ticks() -> tuple[int, int] | None:
    """Busy and all ticks of all cores since the system started."""
    name, *fields = _read(ROOT / "proc/stat").partition("\n")[0].split() or [""]
    ticks = [int(field) for field in fields[:8] if field.isdigit()]
    if name != "cpu" or len(ticks) < 5:
        return None
    idle = ticks[3] + ticks[4]  # and waiting for disks
    return sum(ticks) - idle, sum(ticks)


def quota_cores(root: Path = ROOT) -> float | None:
    """Cores' worth of time that the container may use; None if nothing limits it."""
    limits = [
        limit
        for folder in _group_folders("cpu", root)
        if (limit := _quota_v2(folder) or _quota_v1(folder)) is not None
    ]
    return min(limits, default=None)


def throttling(root: Path = ROOT) -> Throttling | None:
    """How much the innermost group with a limit was throttled."""
    for folder in _group_folders("cpu", root):
        if (_quota_v2(folder) or _quota_v1(folder)) is None:
            continue
        stat = _table(folder / "cpu.stat")
        if "nr_throttled" in stat:
            seconds = stat["throttled_usec"] / 1e6 if "throttled_usec" in stat else None
            if seconds is None:
                seconds = stat.get("throttled_time", 0) / 1e9  # v1 counts in nanoseconds
            return Throttling(stat.get("nr_periods", 0), stat["nr_throttled"], seconds)
    return None


def memory_limit(root: Path = ROOT) -> int | None:
    """Bytes that the container may use; None if nothing limits it."""
    limits = []
    for folder in _group_folders("memory", root):
        for name in ("memory.max", "memory.limit_in_bytes"):
            text = _read(folder / name)
            if text.isdigit() and int(text) < _NO_LIMIT:
                limits.append(int(text))
    return min(limits, default=None)


def memory_bytes(root: Path = ROOT) -> int | None:
    """Bytes of memory that the machine has."""
    total = _meminfo(root).get("MemTotal")
    if total is None and root == ROOT and hasattr(os, "sysconf"):
        try:
            return int(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
        except (ValueError, OSError):
            return None
    return total


def memory_available(root: Path = ROOT) -> int | None:
    """Bytes that could be used without swapping."""
    return _meminfo(root).get("MemAvailable")


def swap_bytes(root: Path = ROOT) -> tuple[int, int] | None:
    """(swap that there is, swap in use)."""
    known = _meminfo(root)
    if "SwapTotal" not in known:
        return None
    return known["SwapTotal"], known["SwapTotal"] - known.get("SwapFree", 0)


def accelerators(root: Path = ROOT, system: str = "", machine: str = "") -> list[str]:
    """Accelerators that the system shows: "CUDA", "ROCm", "MPS"; one entry per device."""
    system, machine = system or sys.platform, machine or platform.machine()
    if system == "darwin":
        return ["MPS"] if machine == "arm64" else []
    if system.startswith("win"):
        library = Path(os.environ.get("SYSTEMROOT", r"C:\Windows")) / "System32" / "nvcuda.dll"
        return ["CUDA"] if library.exists() else []
    found = ["CUDA"] * len(_names(root / "proc/driver/nvidia/gpus"))
    if not found:
        # Some containers show the devices and hide the driver's folder.
        devices = [name for name in _names(root / "dev") if name.startswith("nvidia")]
        found = ["CUDA"] * sum(name.removeprefix("nvidia").isdigit() for name in devices)
    for node in _names(root / "sys/class/kfd/kfd/topology/nodes"):
        folder = root / "sys/class/kfd/kfd/topology/nodes" / node
        if _table(folder / "properties").get("simd_count"):  # a CPU's node has none
            found.append("ROCm")
    return found


def driver_version(root: Path = ROOT) -> str | None:
    """The version of the NVIDIA driver, as it writes it itself."""
    for word in _read(root / "proc/driver/nvidia/version").split():
        if word[:1].isdigit() and "." in word:
            return word
    return None


@dataclass(frozen=True)
class RunTimes:
    """Seconds that the main thread ran and waited for a core, and that all threads waited."""

    on_core: float
    waiting: float
    all_waiting: float


def run_times(root: Path = ROOT) -> RunTimes | None:
    """CPU time and waiting of this process's threads.

    Linux keeps both for each thread (`Documentation/scheduler/sched-stats.rst`). Waiting of all
    threads is the direct sign of more threads than cores.
    """
    native = getattr(Sampler, "thread_times", None)
    if native is not None and root == ROOT:
        times, main_id = native(), getpid()
    else:
        tasks = os.path.join(root, "proc/self/task")
        found = [_schedstat(tasks, name) for name in _names(Path(tasks))[:_MOST_THREADS]]
        times = [each for each in found if each is not None]
        ids = [each[0] for each in times]
        # Numbers of threads wrap around: the main thread's need not be the smallest.
        main_id = getpid() if root == ROOT or getpid() in ids else min(ids, default=0)
    main = next((each for each in times if each[0] == main_id), None)
    if main is None:
        return None
    all_waiting = sum(waiting for _, _, waiting in times)
    return RunTimes(main[1] / 1e9, main[2] / 1e9, all_waiting / 1e9)


#: One small file per thread is read once a second, so their number is limited.
_MOST_THREADS = 256


def _schedstat(tasks: str, name: str) -> tuple[int, int, int] | None:
    """A thread's number, nanoseconds on a core and nanoseconds waiting for one."""
    try:
        with open_file(f"{tasks}/{name}/schedstat", "rb", buffering=0) as file:
            on_core, waiting = file.read(64).split()[:2]
            return int(name), int(on_core), int(waiting)
    except (OSError, ValueError):
        return None


def _group_folders(controller: str, root: Path) -> list[Path]:
    """Folders of this process's control group, from the innermost out, of either version."""
    base = root / "sys/fs/cgroup"
    own: list[tuple[Path, str]] = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        parts = line.split(":", 2)
        if len(parts) != 3:
            continue
        if parts[0] == "0" and not parts[1]:
            own.append((base, parts[2]))
        elif controller in parts[1].split(","):
            own += [(base / parts[1], parts[2]), (base / controller, parts[2])]
    folders: list[Path] = []
    for top, path in own or [(base, "/"), (base / controller, "/")]:
        place = top / path.lstrip("/")
        # A container often shows its own group as the top, whatever path the host gave it.
        while place != top and top in place.parents:
            folders.append(place)
            place = place.parent
        folders.append(top)
    return list(dict.fromkeys(folders))


def _quota_v2(folder: Path) -> float | None:
    fields = _read(folder / "cpu.max").split()
    if len(fields) == 2 and fields[0].isdigit() and fields[1].isdigit() and int(fields[1]):
        return int(fields[0]) / int(fields[1])
    return None


def _quota_v1(folder: Path) -> float | None:
    quota, period = _read(folder / "cpu.cfs_quota_us"), _read(folder / "cpu.cfs_period_us")
    if quota.isdigit() and period.isdigit() and int(period):
        return int(quota) / int(period)
    return None


def _meminfo(root: Path) -> dict[str, int]:
    found = {}
    for line in _read(root / "proc/meminfo").splitlines():
        name, _, rest = line.partition(":")
        number = rest.split()[:1]
        if number and number[0].isdigit():
            found[name] = int(number[0]) * 1024
    return found


def _table(path: Path) -> dict[str, int]:
    """A file of `name number` lines."""
    found = {}
    for line in _read(path).splitlines():
        fields = line.split()
        if len(fields) == 2 and fields[1].isdigit():
            found[fields[0]] = int(fields[1])
    return found


def _names(folder: Path) -> list[str]:
    try:
        return sorted(listdir(folder))
    except OSError:
        return []


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""
