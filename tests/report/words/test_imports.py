"""Import time by statement."""

from __future__ import annotations

from pathlib import Path

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Frame, Sample
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter
from hotloop.report.console.terminal import Style
from hotloop.report.words.imports import import_rows, import_table

SECOND = 1_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run with eight seconds of imports and two of training."""
    writer = ShardWriter(tmp_path, "main", {"command": ["train.py"], "started": 4e9})
    writer.window(Window(0, 0, 0, 8 * SECOND, {"import": PhaseDelta(1, 8 * SECOND, 8 * SECOND)}))
    phases = {"env.step": PhaseDelta(100, 2 * SECOND, 2 * SECOND)}
    window = Window(1, 1, 8 * SECOND, 10 * SECOND, phases, {"env_steps": 100})
    window.loop_last_ns = 10 * SECOND
    writer.window(window)
    writer.end({"reason": "exit", "code": 0})
    return tmp_path


def test_time_goes_to_the_statement_of_the_program(folder: Path) -> None:
    program = folder / "train.py"
    program.write_text("import pandas as pd\nimport torch\n")
    analysis = analyze(read_capture(folder))
    inner = Frame("/lib/site-packages/pandas/core.py", "<module>", 1, 3, False)
    analysis.startup_samples = [
        Sample("import", "main", (inner, Frame(str(program), "<module>", 1, 1, True)), 3.0),
        Sample("import", "main", (Frame(str(program), "<module>", 1, 2, True),), 1.0),
    ]
    rows = import_rows(analysis)
    assert [(row.statement, row.package) for row in rows] == [
        ("import pandas as pd", "pandas"),
        ("import torch", "torch"),
    ]
    assert [row.seconds for row in rows] == pytest.approx([6.0, 2.0], rel=0.01)
    text = import_table(analysis, Style(80))
    assert "75.0%  import pandas as pd" in text
    assert "inside the functions that load data" in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_no_import_is_moved_that_the_module_itself_needs(folder: Path) -> None:
    program = folder / "model.py"
    program.write_text("import pandas as pd\nclass Table(pd.DataFrame): ...\n")
    analysis = analyze(read_capture(folder))
    frame = Frame(str(program), "<module>", 1, 1, True)
    analysis.startup_samples = [Sample("import", "main", (frame,), 3.0)]
    (row,) = import_rows(analysis)
    assert (row.package, row.remedy) == ("pandas", "")


def test_packages_that_a_statement_imports_in_turn_are_named(folder: Path) -> None:
    program = folder / "train.py"
    program.write_text("from stable_baselines3 import PPO\n")
    analysis = analyze(read_capture(folder))
    own = Frame(str(program), "<module>", 1, 1, True)
    library = Frame("/lib/site-packages/stable_baselines3/ppo.py", "<module>", 1, 3, False)
    nested = Frame("/lib/site-packages/tensorflow/__init__.py", "<module>", 1, 3, False)
    loader = Frame("<frozen importlib._bootstrap>", "_load_unlocked", 1, 3, False)
    analysis.startup_samples = [
        Sample("import", "main", (loader, nested, library, own), 3.0),
        Sample("import", "main", (library, own), 1.0),
    ]
    (row,) = import_rows(analysis)
    assert row.inside == "tensorflow 6.00 s, stable_baselines3 2.00 s"
    assert row.inside in import_table(analysis, Style(80))


def test_little_import_time_gets_no_table(folder: Path) -> None:
    analysis = analyze(read_capture(folder))
    analysis.startup_samples = []
    assert import_table(analysis, Style(80)) == ""
