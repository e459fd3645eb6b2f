"""Devices as the frameworks show them, on stand-ins: the hardware is not here."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from hotloop import Profiler
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


def counted(moves: Any) -> dict[str, float]:
    return dict(moves.core.snapshot()[2])


@pytest.fixture(params=["native", "python"])
def fresh(request: Any, monkeypatch: Any) -> Any:
    """What keeps transfers, with nothing in it."""
    profiler = Profiler()
    profiler.enable()
    if request.param == "python":
        monkeypatch.setattr(transfers, "native_parts", lambda core: None)
    elif transfers.native_parts(profiler.core) is None:
        pytest.skip("nothing was compiled here")
    monkeypatch.setattr(transfers, "get_profiler", lambda: profiler)
    monkeypatch.setattr(transfers, "moves", transfers.Moves())
    return transfers.moves


@pytest.fixture
def moves(fresh: Any, monkeypatch: Any) -> Any:
    """The hooks of a torch that could leave the CPU, on this one: `meta` is another device."""
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(transfers, "can_leave_cpu", lambda torch: True)
    take_off = transfers.put_on()
    yield fresh
    take_off()


class Place:
    """In the manner of torch's devices."""

    def __init__(self, name: str) -> None:
        self.type = name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Place) and self.type == other.type

    __hash__ = None  # type: ignore[assignment]


class Tensor:
    """In the manner of torch's, on any device."""

    nbytes, is_meta = 16, False

    def __init__(self, name: str = "cuda") -> None:
        self.device = Place(name)

    @property
    def is_cpu(self) -> bool:
        return self.device.type == "cpu"

    def item(self) -> float:
        return 1.5

    def fail(self) -> None:
        raise ValueError("no")

    def to(self, place: Any = None, non_blocking: bool = False) -> Tensor:
        return self if place in (None, self.device) else Tensor(getattr(place, "type", place))


def test_a_tensor_elsewhere_is_read_in_a_phase(fresh: Any) -> None:
    item = transfers._read(Tensor.item, ".item()", True)
    there = Tensor()
    assert [item(there) for _ in range(3)] == [1.5] * 3  # line
    ((file, line, function, what, *figures),) = fresh.lines()
    assert (file, function, what) == (
        __file__,
        "test_a_tensor_elsewhere_is_read_in_a_phase"
        if sys.version_info >= (3, 12)
        else "<listcomp>",
        ".item()",
    )
    assert "# line" in Path(__file__).read_text().splitlines()[line - 1]
    assert figures == [3, 48, 3]
    rows = {name: calls for name, calls in _calls(fresh.core).items() if calls}
    assert rows == {"transfer": 3}


def _calls(core: Any) -> dict[str, int]:
    names = {node: name for node, _, name, _ in core.nodes()}
    return {names[row[0]]: row[1] for row in core.snapshot()[1]}


def test_reads_are_counted_once_a_device_was_seen(fresh: Any) -> None:
    item = transfers._read(Tensor.item, ".item()", True)
    firsts: list[str] = []
    fresh.at_first = lambda: firsts.append("first")
    here, there = Tensor("cpu"), Tensor()
    item(here)
    assert (fresh.only_cpu, firsts) == (True, [])
    for tensor in (there, here, there):
        item(tensor)
    assert (fresh.only_cpu, firsts) == (False, ["first"])
    assert counted(fresh) == {"transfers": 3, "transfer_bytes": 32, "syncs": 2}


def test_moves_between_devices(fresh: Any) -> None:
    to = transfers._move(Tensor.to, ".to()", transfers._goes_away(Place), Place)
    here, there = Tensor("cpu"), Tensor()
    assert to(here, Place("cpu")) is here
    assert to(there, Place("cuda")) is there
    assert to(there).device == Place("cuda")
    assert counted(fresh) == {}
    assert to(here, Place("cuda")).device == Place("cuda")
    assert to(here, "cuda").device == Place("cuda")
    assert counted(fresh) == {"transfers": 2, "transfer_bytes": 32}
    assert to(there, Place("cpu")).is_cpu
    assert counted(fresh) == {"transfers": 1, "transfer_bytes": 16, "syncs": 1}
    assert to(there, Place("cpu"), non_blocking=True).is_cpu
    assert counted(fresh) == {"transfers": 1, "transfer_bytes": 16}


def test_an_error_of_a_read_is_the_programs(fresh: Any) -> None:
    fail = transfers._read(Tensor.fail, ".item()", True)
    with pytest.raises(ValueError, match="no"):
        fail(Tensor())
    assert counted(fresh) == {}
    assert not fresh.core.is_open("transfer")
    with pytest.raises((AttributeError, TypeError)):
        transfers._read(Tensor.item, ".item()", True)()


def test_words_for_the_same_are_one(fresh: Any) -> None:
    for number in range(3):
        fresh.seen(f"torch.{'tensor' if number < 9 else ''}()", 1, False)
    assert [row[4] for row in fresh.lines()] == [3]


def test_lines_beyond_the_limit_are_left_out(fresh: Any) -> None:
    for number in range(transfers.MOST_LINES + 9):
        fresh.seen(f"read {number}", 1, True)
    assert len(fresh.kept.lines()) == transfers.MOST_LINES
    assert counted(fresh)["transfers"] == transfers.MOST_LINES + 9


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
    assert counted(moves) == {"transfers": 3, "transfer_bytes": 96}


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
    assert counted(moves) == {"syncs": 1}


def test_notes_are_said_again_when_there_are_twice_as_many(fresh: Any) -> None:
    fresh.seen(".item()", 4, True)
    first = fresh.notes()["transfer_lines"][0][4]
    fresh.seen(".item()", 4, True)
    for _ in range(2):
        fresh.seen(".item()", 4, True)
    said = [sum(row[4] for row in fresh.notes()["transfer_lines"])]
    fresh.seen(".item()", 4, True)
    said.append(sum(row[4] for row in fresh.notes()["transfer_lines"]))
    fresh.say_again()
    said.append(sum(row[4] for row in fresh.notes()["transfer_lines"]))
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
