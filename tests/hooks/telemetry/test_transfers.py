"""Transfers between devices, counted by source line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.telemetry import transfers


# -- transfers --
def counted(moves: Any) -> dict[str, float]:
    return dict(moves.core.snapshot()[2])


@pytest.fixture
def context() -> HookContext:
    """The context of a new run."""
    profiler = Profiler()
    profiler.enable()
    if transfers.native_parts(profiler.core) is None:
        pytest.skip("nothing was compiled here")
    return HookContext(profiler)


@pytest.fixture
def fresh(context: HookContext) -> Any:
    """What keeps transfers, with nothing in it."""
    return context.transfers


@pytest.fixture
def moves(context: HookContext, monkeypatch: Any) -> Any:
    """The hooks of a torch that could leave the CPU, on this one: `meta` is another device."""
    pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(transfers, "can_leave_cpu", lambda torch: True)
    remove = transfers.install(context)
    yield context.transfers
    remove()


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
    item = fresh.reading(Tensor.item, ".item()", counts=True)
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
    item = fresh.reading(Tensor.item, ".item()", counts=True)
    firsts: list[str] = []
    fresh.at_first = lambda: firsts.append("first")
    here, there = Tensor("cpu"), Tensor()
    item(here)
    assert (fresh.kept.only_cpu, firsts) == (True, [])
    for tensor in (there, here, there):
        item(tensor)
    assert (fresh.kept.only_cpu, firsts) == (False, ["first"])
    assert counted(fresh) == {"transfers": 3, "transfer_bytes": 32, "syncs": 2}


def test_moves_between_devices(fresh: Any) -> None:
    to = fresh.moving(Tensor.to, ".to()", Place("cpu"), transfers._goes_away(Place))
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
    fail = fresh.reading(Tensor.fail, ".item()", counts=True)
    with pytest.raises(ValueError, match="no"):
        fail(Tensor())
    assert counted(fresh) == {}
    assert not fresh.core.is_open("transfer")
    with pytest.raises((AttributeError, TypeError)):
        fresh.reading(Tensor.item, ".item()", counts=True)()


def test_words_for_the_same_are_one(fresh: Any) -> None:
    for number in range(3):
        fresh.seen(f"torch.{'tensor' if number < 9 else ''}()", 1, False)
    assert [row[4] for row in fresh.lines()] == [3]


def test_lines_beyond_the_limit_are_left_out(fresh: Any) -> None:
    most = fresh.native.MOST_LINES
    for number in range(most + 9):
        fresh.seen(f"read {number}", 1, True)
    assert len(fresh.kept.lines()) == most
    assert counted(fresh)["transfers"] == most + 9


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


def test_a_wait_is_a_sync_and_no_transfer(context: HookContext, monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    monkeypatch.setattr(transfers, "can_leave_cpu", lambda torch: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda: "done")
    remove, moves = transfers.install(context), context.transfers
    assert torch.cuda.synchronize() == "done"
    remove()
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
    fresh.note_everything()
    said.append(sum(row[4] for row in fresh.notes()["transfer_lines"]))
    assert (first, said) == (1, [4, 4, 5])


def test_hooks_are_taken_off_again(context: HookContext, monkeypatch: Any) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    before, sync = dict(vars(torch.Tensor)), torch.cuda.synchronize
    monkeypatch.setattr(transfers, "can_leave_cpu", lambda torch: True)
    transfers.install(context)()
    assert dict(vars(torch.Tensor)) == before
    assert torch.cuda.synchronize is sync
