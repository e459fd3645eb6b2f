"""Results of experiments, stored and read again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_experiments import comparison, investigation, result, sweep

from hotloop.analyze.comparing.experiments import FailedRun, Result
from hotloop.cli import main
from hotloop.errors import HotloopError
from hotloop.experiment.stored import NAME, is_stored, load, store


def results(folder: Path) -> list[Result]:
    failed = FailedRun("second", "train.py", "failed with exit code 1", ["ValueError"])
    return [
        replace(result(comparison()), folder=str(folder), failure=failed),
        replace(sweep(["1", "2", "4"]), folder=str(folder), failures=[failed]),
        replace(investigation(), folder=str(folder)),
    ]


@pytest.mark.parametrize("number", range(3))
def test_what_is_stored_is_what_is_read(tmp_path: Path, number: int) -> None:
    made = results(tmp_path)[number]
    store(made)
    assert is_stored(tmp_path)
    assert load(tmp_path) == made
    assert (tmp_path / NAME).stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("number", range(3))
def test_its_page_can_be_made_again(tmp_path: Path, number: int) -> None:
    store(results(tmp_path)[number])
    page = tmp_path / "page.html"
    assert main(["report", str(tmp_path), "-o", str(page)]) == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")


def test_something_else_is_named(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text('{"kind": "sweep", "result": {}}')
    with pytest.raises(HotloopError, match="not a result"):
        load(tmp_path)
