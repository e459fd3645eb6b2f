"""`benchmarks.return_pool`: verdicts of a few seeds against those of all."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from benchmarks import return_pool
from hotloop.analyze.comparing.time_to_return import Attempt


def stored(path: Path, factor: float) -> Path:
    """A pool of 12 seeds whose second setting is sooner by the factor."""
    sides = [
        [asdict(Attempt(seed, (10 + seed) / by, 1000.0, True, 100.0)) for seed in range(12)]
        for by in (1.0, factor)
    ]
    path.write_text(json.dumps(dict.fromkeys(return_pool.SETTINGS, sides)))
    return path


def rows(text: str) -> list[list[str]]:
    return [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines()[2:]]


def test_a_clear_difference_is_found_in_every_try(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    return_pool.judge_pool(stored(tmp_path / "pool.json", 3.0), tries=4, seeds=8)
    for row in rows(capsys.readouterr().out):
        assert row[1] == "12 seeds"
        assert row[2].startswith("3.00 (")
        assert row[3].startswith("sooner")
        assert row[4:] == ["100%", "0%", "0%"]


def test_lack_of_power_is_not_an_opposite_verdict(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    # Three seeds can exclude nothing.
    return_pool.judge_pool(stored(tmp_path / "pool.json", 3.0), tries=4, seeds=3)
    assert all(row[4:] == ["0%", "100%", "0%"] for row in rows(capsys.readouterr().out))
