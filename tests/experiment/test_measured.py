"""Pairs of runs, measured over what both count."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from launches import launch

from hotloop.experiment.launch import (
    run,
)
from hotloop.experiment.measured import measured, pair_figures


def test_runs_that_count_different_things(program: Path) -> None:
    (program / "other.py").write_text(
        "from hotloop import count, profile\nwith profile('learn'): count('iterations', 5)\n"
    )
    sides = []
    for index, text in enumerate(("train.py --steps 3 --updates 0", "other.py")):
        made = replace(launch(program, text), capture=str(program / "out" / str(index)))
        sides.append(measured(run(made), made))
    with pytest.raises(Exception, match="count different things"):
        pair_figures(*sides)
