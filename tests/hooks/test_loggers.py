"""TensorBoard, tensorboardX, Weights & Biases and SQLite are `log`, and work as before."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

PROGRAM = Path(__file__).parent / "own_programs" / "loggers.py"


@pytest.mark.parametrize(
    ("kind", "module"),
    [("torch", "torch.utils.tensorboard"), ("x", "tensorboardX"), ("wandb", "wandb")],
)
def test_logging_is_a_phase(profile: Any, kind: str, module: str) -> None:
    pytest.importorskip(module)
    run = profile(PROGRAM, kind)
    assert run.calls("log") >= 300
    assert run.seconds("log") > run.seconds("env.step")
    assert all(not facts["missing"] for facts in run.report["libraries"].values())


STAND_IN = """
import time
class Run:
    def log(self, data, step=None):
        end = time.perf_counter() + 0.001
        while time.perf_counter() < end: pass
    def finish(self): ...
"""


def test_wandb_by_its_run(profile: Any, tmp_path: Path) -> None:
    """Without the package itself: `wandb.log` is the method of the run that `init` made."""
    sdk = tmp_path / "wandb" / "sdk"
    sdk.mkdir(parents=True)
    (sdk / "__init__.py").touch()
    (sdk / "wandb_run.py").write_text(STAND_IN)
    (tmp_path / "wandb" / "__init__.py").write_text(
        "from .sdk.wandb_run import Run\n"
        "def init(**_):\n    global log\n    run = Run()\n    log = run.log\n    return run\n"
    )
    run = profile(PROGRAM.read_text(), "wandb")  # beside the package, where Python looks first
    assert run.calls("log") >= 300
    assert run.seconds("log") >= 0.3


def test_sqlite_writes_are_the_log(profile: Any) -> None:
    run = profile(PROGRAM, "sqlite")
    assert run.out == profile(PROGRAM, "sqlite", hotloop=False).out
    assert run.calls("log") == 300 * 2 + 6 * 2
    assert run.seconds("log") > run.seconds("env.step")


DETAILS = """
import sqlite3, os, sys

class Mine(sqlite3.Connection):
    pass

a = sqlite3.connect(":memory:")
b = sqlite3.connect(":memory:", factory=Mine)
c = sqlite3.connect(":memory:", 5.0, 0, None, True, Mine)
print(type(a).__name__, type(b).__name__, type(c).__name__, isinstance(a, sqlite3.Connection))
a.row_factory = sqlite3.Row
a.execute("create table t (x, y)")
a.executemany("insert into t values (?, ?)", [(1, 2), (3, 4)])
with a:
    a.execute("update t set y = 5 where x = 3")
try:
    with a:
        a.execute("insert into t values (9, 9)")
        raise KeyError
except KeyError:
    pass
print([dict(row) for row in a.execute("select * from t")], a.total_changes, a.in_transaction)
cursor = a.cursor()
print(cursor.execute("  insert into t values (?, ?)", (7, 8)).lastrowid, cursor.rowcount)
try:
    a.execute("insert into nowhere values (1)")
except sqlite3.OperationalError as error:
    print(error)
"""


def test_sqlite_behaves_as_before(profile: Any) -> None:
    assert profile(DETAILS).out == profile(DETAILS, hotloop=False).out
