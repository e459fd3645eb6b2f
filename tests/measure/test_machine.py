"""The machine as its files tell it: stand-ins for containers, devices and other systems."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hotloop.measure import machine


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path


def put(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def test_a_container_of_the_second_version(root: Path) -> None:
    put(
        root,
        {
            "proc/self/cgroup": "0::/\n",
            "sys/fs/cgroup/cpu.max": "150000 100000\n",
            "sys/fs/cgroup/cpu.stat": "usage_usec 9\nnr_periods 90\nnr_throttled 30\n"
            "throttled_usec 2500000\n",
            "sys/fs/cgroup/memory.max": "4000000000\n",
        },
    )
    assert machine.quota_cores(root) == 1.5
    assert machine.throttling(root) == machine.Throttling(90, 30, 2.5)
    assert machine.memory_limit(root) == 4_000_000_000


def test_the_tightest_limit_of_nested_groups_counts(root: Path) -> None:
    put(
        root,
        {
            "proc/self/cgroup": "0::/kube/pod/box\n",
            "sys/fs/cgroup/kube/pod/box/cpu.max": "max 100000\n",
            "sys/fs/cgroup/kube/pod/cpu.max": "200000 100000\n",
            "sys/fs/cgroup/kube/cpu.max": "800000 100000\n",
        },
    )
    assert machine.quota_cores(root) == 2.0


def test_a_container_of_the_first_version(root: Path) -> None:
    put(
        root,
        {
            "proc/self/cgroup": "5:cpu,cpuacct:/docker/1\n4:memory:/docker/1\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_quota_us": "50000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.cfs_period_us": "100000\n",
            "sys/fs/cgroup/cpu,cpuacct/docker/1/cpu.stat": "nr_periods 8\nnr_throttled 4\n"
            "throttled_time 3000000000\n",
            "sys/fs/cgroup/memory/docker/1/memory.limit_in_bytes": f"{1 << 62}\n",
        },
    )
    assert machine.quota_cores(root) == 0.5
    assert machine.throttling(root) == machine.Throttling(8, 4, 3.0)
    assert machine.memory_limit(root) is None


@pytest.mark.parametrize("text", ["max 100000", "-1", "", "x y z", "100000 0"])
def test_no_limit_or_nonsense_is_no_limit(root: Path, text: str) -> None:
    put(root, {"proc/self/cgroup": "0::/\n", "sys/fs/cgroup/cpu.max": text})
    assert machine.quota_cores(root) is None
    assert machine.throttling(root) is None


def test_a_machine_that_tells_nothing(root: Path) -> None:
    assert machine.quota_cores(root) is None
    assert machine.memory_bytes(root) is None
    assert machine.swap_bytes(root) is None
    assert machine.run_times(root) is None
    assert machine.accelerators(root, "linux", "x86_64") == []


def test_memory_and_swap(root: Path) -> None:
    text = "MemTotal: 1000 kB\nMemAvailable: 600 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n"
    put(root, {"proc/meminfo": text})
    assert machine.memory_bytes(root) == 1_024_000
    assert machine.memory_available(root) == 614_400
    assert machine.swap_bytes(root) == (51_200, 30_720)


def test_accelerators_of_linux(root: Path) -> None:
    nodes = "sys/class/kfd/kfd/topology/nodes"
    put(
        root,
        {
            "proc/driver/nvidia/gpus/0000:01:00.0/information": "",
            "proc/driver/nvidia/gpus/0000:02:00.0/information": "",
            "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX  550.54.15  Tue\n",
            f"{nodes}/0/properties": "cpu_cores_count 16\nsimd_count 0\n",
            f"{nodes}/1/properties": "simd_count 256\n",
        },
    )
    assert machine.accelerators(root, "linux", "x86_64") == ["CUDA", "CUDA", "ROCm"]
    assert machine.driver_version(root) == "550.54.15"


def test_a_container_that_shows_only_the_devices(root: Path) -> None:
    put(root, {"dev/nvidia0": "", "dev/nvidiactl": "", "dev/nvidia-uvm": ""})
    assert machine.accelerators(root, "linux", "x86_64") == ["CUDA"]


@pytest.mark.parametrize(("chip", "seen"), [("arm64", ["MPS"]), ("x86_64", [])])
def test_accelerators_of_macos(root: Path, chip: str, seen: list[str]) -> None:
    assert machine.accelerators(root, "darwin", chip) == seen


def test_the_time_of_threads(root: Path) -> None:
    put(
        root,
        {
            "proc/self/task/100/schedstat": "2000000000 500000000 9\n",
            "proc/self/task/101/schedstat": "9000000000 1500000000 9\n",
            "proc/self/task/102/schedstat": "",
        },
    )
    assert machine.run_times(root) == machine.RunTimes(2.0, 0.5, 2.0)


@pytest.mark.skipif(not os.path.exists("/proc/self/schedstat"), reason="not told by this system")
def test_native_code_and_python_read_the_same_times(tmp_path: Path) -> None:
    os.mkdir(tmp_path / "proc")
    os.symlink("/proc/self", tmp_path / "proc/self")
    by_python, native = machine.run_times(tmp_path), machine.run_times()
    assert by_python is not None
    assert native is not None
    assert native.on_core == pytest.approx(by_python.on_core, abs=1.0)
    assert 0 < native.waiting <= native.all_waiting


def test_this_machine_has_cores() -> None:
    assert 1 <= machine.affinity_cores() <= (os.cpu_count() or 1)
