"""What a run has done so far, counted over processes of which some drive others."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_captures import made_shard

from hotloop.capture.growing import Shard
from hotloop.capture.window import Window
from hotloop.run.counting import Counting, total_of


def shard(name: str, pid: int, parent: int, *steps: float) -> Shard:
    windows = [
        Window(place, place, place, place + 1, counters={"env_steps": count})
        for place, count in enumerate(steps)
    ]
    header = {"pid": pid, "parent": parent, "host": "here"}
    return made_shard(name, header, windows=windows)


MAIN = 10


@pytest.mark.parametrize(
    ("others", "total"),
    [
        ([], 5),
        # Workers of a vector count what the main process counts as well, and lag behind.
        ([shard("env-0", 11, MAIN, 2), shard("env-1", 12, MAIN, 2)], 5),
        # Processes with environments of their own.
        ([shard("a", 11, MAIN, 30, 10), shard("b", 12, MAIN, 30)], 70),
        # One that trains, with workers of its own.
        ([shard("a", 11, MAIN, 80), shard("b", 12, 11, 40), shard("c", 13, 11, 39)], 80),
        # Ray's actors: started by another process.
        ([shard("a", 11, 3, 30), shard("b", 12, 3, 40)], 70),
        # A number that was used again.
        ([shard("a", 11, 12, 30), shard("b", 12, 11, 40)], 5),
    ],
    ids=["alone", "vector", "own environments", "a trainer", "actors", "used again"],
)
def test_steps_are_counted_once(others: list[Shard], total: float) -> None:
    assert total_of([shard("main", MAIN, 1, 3, 2), *others], "env_steps") == total


def test_a_folder_that_cannot_be_read_counts_nothing(tmp_path: Path) -> None:
    counting = Counting(tmp_path / "gone")
    assert (counting.others(), counting.total("env_steps")) == (False, 0.0)
    assert not counting.trains()
