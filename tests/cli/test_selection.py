"""Which recorded run a command means."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest
from recorded_folders import aged, experiment, record

from hotloop.cli.selection import recordings, selected, selected_capture
from hotloop.errors import HotloopError


def test_nothing_selects_the_newest_and_a_name_is_enough(here: Path) -> None:
    assert selected(None).name == "new"
    assert selected("old") == Path("runs/hotloop/old")
    assert selected_capture(None).name == "new"


def test_a_folder_of_several_means_the_newest_in_it(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert selected("runs/hotloop") == Path("runs/hotloop/new")
    assert capsys.readouterr().err == "hotloop: runs/hotloop holds 2 recordings; using new\n"


@pytest.mark.parametrize(
    ("typed", "hint"), [("ol", "did you mean old?"), ("other", "`hotloop list` shows them")]
)
def test_a_name_that_is_not_there_gets_a_hint(here: Path, typed: str, hint: str) -> None:
    with pytest.raises(HotloopError, match=f"{typed}: no such capture; {re.escape(hint)}"):
        selected(typed)


@pytest.mark.parametrize(
    ("end", "state"),
    [
        ({"reason": "exit"}, "ended"),
        ({"reason": "KeyboardInterrupt"}, "interrupted"),
        ({"reason": "SIGTERM", "code": 143}, "terminated"),
        ({"reason": "ValueError", "code": 1}, "failed (ValueError)"),
    ],
)
def test_how_a_run_ended_is_its_state(here: Path, end: dict[str, object], state: str) -> None:
    with open("runs/hotloop/new/main.jsonl", "a") as shard:
        shard.write(json.dumps({"e": end}) + "\n")
    assert recordings(Path("runs/hotloop"))[0].state == state


def test_an_experiment_stands_for_its_newest_capture(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = here / "runs/hotloop/compare-1"
    aged(record(folder / "pair-1" / "a"), 3)
    aged(record(folder / "pair-1" / "b"), 2)
    assert selected_capture("compare-1") == Path("runs/hotloop/compare-1/pair-1/b")
    assert "is an experiment" in capsys.readouterr().err
    assert [each.kind for each in recordings(Path("runs/hotloop"))][1] == "unfinished experiment"


def test_runs_of_an_experiment_are_not_the_newest(here: Path) -> None:
    experiment(here / "runs/hotloop/prove-1", "prove", os.getpid())
    assert selected(None).name == "new"
    assert selected_capture(None).name == "new"
    assert selected_capture(None, proven=True).name == "new"
    (here / "runs/hotloop/old/proof.json").write_text("{}")
    assert selected_capture(None).name == "new"
    assert selected_capture(None, proven=True).name == "old"
