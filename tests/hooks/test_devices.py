"""Devices as the frameworks show them, on stand-ins: the hardware is not here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hotloop.hooks import devices, jax_device, transfers
from hotloop.hooks.devices import TorchCuda, TorchMps, known_devices
from hotloop.hooks.kineto import activities_of
from hotloop.measure import machine
from hotloop.measure.activity import COPY_CALL, KERNEL, LAUNCH, ON_DEVICE, SYNC, TO_DEVICE, TO_HOST


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


def test_rocms_names_in_a_trace() -> None:
    def event(cat: str, name: str, number: int, **more: Any) -> dict[str, Any]:
        return {"cat": cat, "name": name, "ts": number, "dur": 2, "args": {"correlation": number}}

    trace = {
        "baseTimeNanoseconds": 1_000_000,
        "traceEvents": [
            event("cuda_runtime", "hipLaunchKernel", 1),
            event("cuda_runtime", "hipMemcpyWithStream", 2),
            event("cuda_runtime", "hipStreamSynchronize", 3),
            event("kernel", "Cijk_Ailk_Bljk_SB", 1),
            event("gpu_memcpy", "CopyHostToDevice", 2),
            event("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", 4),
            event("gpu_memcpy", "CopyDeviceToDevice", 5),
            event("gpu_memset", "Memset (Device)", 6),
            event("cpu_op", "aten::mm", 7),
            {"ph": "M", "name": "process_name"},
        ],
    }
    found = activities_of(trace, -500_000)
    assert [each.kind for each in found] == [
        LAUNCH, COPY_CALL, SYNC, KERNEL, TO_DEVICE, TO_HOST, ON_DEVICE, ON_DEVICE,
    ]  # fmt: skip
    assert (found[0].begin_ns, found[0].end_ns) == (501_000, 503_000)


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


# -- transfers --


@pytest.fixture
def moves(monkeypatch: Any) -> Any:
    """The hooks of a torch that could leave the CPU, on this one: `meta` is another device."""
    pytest.importorskip("torch", reason="torch is not installed")
    fresh = transfers.Moves()
    counted: dict[str, float] = {}
    fresh.count = lambda name, n=1: counted.__setitem__(name, counted.get(name, 0) + n)
    fresh.counted = counted  # type: ignore[attr-defined]
    monkeypatch.setattr(transfers, "moves", fresh)
    monkeypatch.setattr(transfers, "can_leave_cpu", lambda torch: True)
    take_off = transfers.put_on()
    yield fresh
    take_off()


def test_transfers_are_counted_by_line(moves: Any) -> None:
    import torch

    here = torch.ones(8)
    for _ in range(3):
        there = here.to("meta")  # line
    assert there.is_meta
    here.to(torch.float64)
    ((file, line, function, what, count, size, waits),) = moves.lines()
    assert file == __file__
    assert "# line" in Path(__file__).read_text().splitlines()[line - 1]
    assert (function, what) == ("test_transfers_are_counted_by_line", ".to()")
    assert (count, size, waits) == (3, 3 * 32, 0)
    assert moves.counted == {"transfers": 3, "transfer_bytes": 96}


def test_what_stays_where_it_is_is_no_transfer(moves: Any) -> None:
    import torch

    there = torch.ones(2, device="meta")
    assert there.to(torch.device("meta")) is there
    assert float(torch.ones(())) == 1.0
    assert bool(torch.ones(()))
    assert int(torch.ones(())) == [0, 1][torch.ones((), dtype=int)]
    assert moves.lines() == []


def test_a_wait_is_a_sync_and_no_transfer(moves: Any, monkeypatch: Any) -> None:
    wait = transfers._wait(lambda: "done", "torch.cuda.synchronize()")
    assert wait() == "done"
    ((_, _, _, what, count, size, waits),) = moves.lines()
    assert (what, count, size, waits) == ("torch.cuda.synchronize()", 0, 0, 1)
    assert moves.counted == {"syncs": 1}


def test_notes_are_said_again_when_there_are_twice_as_many(moves: Any) -> None:
    moves.seen(".item()", 4, True, depth=1)
    first = moves.notes()["transfer_lines"][0][4]
    moves.seen(".item()", 4, True, depth=1)
    for _ in range(2):
        moves.seen(".item()", 4, True, depth=1)
    said = [sum(row[4] for row in moves.notes()["transfer_lines"])]
    moves.seen(".item()", 4, True, depth=1)
    said.append(sum(row[4] for row in moves.notes()["transfer_lines"]))
    moves.say_again()
    said.append(sum(row[4] for row in moves.notes()["transfer_lines"]))
    assert (first, said) == (1, [4, 4, 5])


def test_hooks_are_taken_off_again(monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    before, sync = dict(vars(torch.Tensor)), torch.cuda.synchronize
    monkeypatch.setattr(transfers, "can_leave_cpu", lambda torch: True)
    transfers.put_on()()
    assert dict(vars(torch.Tensor)) == before
    assert torch.cuda.synchronize is sync


def test_a_machine_without_an_accelerator_has_no_watch(monkeypatch: Any) -> None:
    from hotloop.hooks.watching import Watching

    monkeypatch.setattr(machine, "accelerators", list)
    assert Watching.of_this_machine(None, None, "windows") is None  # type: ignore[arg-type]
    assert devices.known_devices() == []
