"""Evidence as a reader sees it."""

from __future__ import annotations

from typing import Any

import pytest
from findings_made import found

from hotloop.report.words.evidence import evidence_in_words


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("share_of_loop", 0.25, ("share of the loop", "25.0%")),
        ("step_s", 0.0012, ("time per step", "1.20 ms")),
        ("rows_per_update", 64.0, ("batch size", "64")),
        ("major_faults_per_s", 12.5, ("page faults per second", "12.5")),
        ("memory_added_mb", 120.0, ("memory added", "120 MB")),
        ("comm_s_per_update", 0.0021, ("communication per update", "2.10 ms")),
        ("new_s_per_update", 0.0021, ("new per update", "2.10 ms")),
        ("waiting_for_a_core", 0.4, ("waiting for a CPU core", "40.0%")),
        # Of all threads: no share of the time, and often more than one.
        ("threads_waiting", 1.25, ("threads waiting for a CPU core", "1.25")),
        ("bytes_per_message", 4000, ("bytes per message", "4 kB")),
        ("frame_is_observation", True, ("the frame is the observation", "yes")),
        ("something_new", [1, 2.5], ("something new", "1, 2.5")),
        ("p", 0.00001, ("chance that this is noise", "below 0.1%")),
    ],
)
def test_a_figure_has_a_label_and_a_unit(name: str, value: Any, words: tuple[str, str]) -> None:
    assert evidence_in_words(found("x", evidence={name: value})) == [words]


def test_what_is_unknown_or_shown_elsewhere_is_left_out() -> None:
    assert evidence_in_words(found("x", evidence={"cores": None, "gain_of_loop": [1.1, 1.2]})) == []
