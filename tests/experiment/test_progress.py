"""What is said about the time that is left."""

from __future__ import annotations

import pytest

from hotloop.experiment.progress import time_left


@pytest.mark.parametrize(
    ("spent", "done", "whole", "words"),
    [
        (0.0, 0, 5, ""),
        (10.0, 5, 5, ""),
        (10.0, 1, 5, ", at most 40 s left"),
        (60.0, 1, 20, ", at most 19 min left"),
        (3600.0, 1, 4, ", at most 3.0 h left"),
    ],
)
def test_the_time_left_follows_the_runs_that_are_done(
    spent: float, done: int, whole: int, words: str
) -> None:
    assert time_left(spent, done, whole) == words
