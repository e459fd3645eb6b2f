"""Run-time fixes in real programs: each changes the call that it is for, and counts it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from real_runs import Hotloop

from hotloop.analyze.processes.training import read_capture
from hotloop.errors import HotloopError
from hotloop.hooks.context import HookContext
from hotloop.hooks.fixes import check
from hotloop.hooks.fixes.runtime import Applied, known_fixes
from hotloop.measure.profiler import Profiler

pytestmark = pytest.mark.programs


def fixed(hotloop: Hotloop, folder: Path, source: str, *fixes: str) -> tuple[str, dict[str, int]]:
    (folder / "program.py").write_text(source)
    options = [word for fix in fixes for word in ("--fix", fix)]
    result = hotloop("run", "-q", "-o", "capture", *options, "program.py")
    assert result.returncode == 0, result.stderr
    notes: Any = read_capture(folder / "capture").main.notes
    return result.stdout, notes.fixes


PLAIN = """
import copy, gc, os
from copy import deepcopy
inner = {"a": [1]}
copied = deepcopy({"x": inner, "y": [inner]})
print(copied["x"] == inner, copied["x"] is inner, copied["x"]["a"] is inner["a"])
print(deepcopy(7), gc.collect(), os.environ["OMP_NUM_THREADS"])
"""


def test_the_standard_library(hotloop: Hotloop, tmp_path: Path) -> None:
    output, counts = fixed(hotloop, tmp_path, PLAIN, "shallow-copies", "no-gc-calls", "threads=1")
    assert output == "True False True\n7 0 1\n"
    assert counts == {"shallow-copies": 1, "no-gc-calls": 1, "threads=1": 0}


TORCH = """
import numpy as np, torch, warnings
torch.set_num_threads(7)
torch.autograd.set_detect_anomaly(True)
warnings.simplefilter("error")
rows = [np.ones(3, np.float32), np.zeros(3, np.float32)]
a, b = torch.tensor(rows), torch.FloatTensor(rows)
print(a.dtype, b.tolist() == a.tolist(), isinstance(a, torch.FloatTensor), torch.FloatTensor([1, 2]))
print(torch.get_num_threads(), torch.is_anomaly_enabled())
layer = torch.nn.Linear(2, 1)
optimizer = torch.optim.Adam(layer.parameters(), lr=0.1)
print(optimizer.param_groups[0]["fused"])
torch.distributions.Normal(0.0, -1.0)
function = torch.compile(lambda x: x + 1)
print(function(1))
"""


def test_torch(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    fixes = "threads=1", "anomaly-off", "one-array", "fused-optimizer", "no-validation", "eager"
    output, counts = fixed(hotloop, tmp_path, TORCH, *fixes)
    assert output.splitlines() == [
        "torch.float32 True True tensor([1., 2.])", "1 False", "True", "2"
    ]  # fmt: skip
    assert all(counts[fix] for fix in fixes)


LOADERS = """
from torch.utils.data import DataLoader
for loader in (DataLoader([1, 2]), DataLoader([1, 2], num_workers=1), DataLoader([1, 2], num_workers=3)):
    print(loader.num_workers, loader.persistent_workers)
"""


def test_loaders_get_more_workers_or_keep_them(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    output, counts = fixed(hotloop, tmp_path, LOADERS, "loader-workers=2")
    assert output.splitlines() == ["2 True", "2 True", "3 False"]
    assert counts == {"loader-workers=2": 2}
    (tmp_path / "kept").mkdir()
    (tmp_path / "capture").rename(tmp_path / "kept" / "capture")
    output, counts = fixed(hotloop, tmp_path, LOADERS, "persistent-workers")
    assert output.splitlines() == ["0 False", "1 True", "3 True"]
    assert counts == {"persistent-workers": 2}


VECTORS = """
import gymnasium as gym
envs = gym.vector.AsyncVectorEnv([lambda: gym.make("CartPole-v1")] * 2, shared_memory=False)
made = gym.make_vec("CartPole-v1", num_envs=2, vectorization_mode="async")
print(isinstance(envs, gym.vector.SyncVectorEnv), isinstance(made, gym.vector.SyncVectorEnv))
print(envs.num_envs, made.num_envs)
"""


def test_vector_environments(hotloop: Hotloop, tmp_path: Path) -> None:
    output, counts = fixed(hotloop, tmp_path, VECTORS, "envs-in-process", "envs=3")
    assert output == "True True\n3 3\n"
    assert counts["envs-in-process"] == 2


COMMITS = """
import sqlite3

class Own(sqlite3.Connection):
    pass

rows = sqlite3.connect("rows.db")
rows.execute("CREATE TABLE rows (row INTEGER)")
reader = sqlite3.connect("rows.db")
for row in range(75):
    rows.execute("INSERT INTO rows VALUES (?)", (row,))
    rows.commit()
for row in range(75):
    with rows:
        rows.execute("INSERT INTO rows VALUES (?)", (row,))
print(reader.execute("SELECT count(*) FROM rows").fetchone()[0])
rows.close()
print(reader.execute("SELECT count(*) FROM rows").fetchone()[0])
print(type(sqlite3.connect(":memory:", factory=Own)).__name__)
"""


def test_commits_are_fewer_and_no_row_is_lost(hotloop: Hotloop, tmp_path: Path) -> None:
    output, counts = fixed(hotloop, tmp_path, COMMITS, "fewer-commits=100")
    assert output == "100\n150\nOwn\n"
    assert counts == {"fewer-commits=100": 150}


def test_what_is_no_fix() -> None:
    check(["threads=2", "eager"])
    for text in ("nonsense", "threads", "threads=x", "eager=1"):
        with pytest.raises(HotloopError, match="--fix"):
            check([text])


def test_each_fix_names_a_module() -> None:
    assert all(fix.modules for fix in known_fixes().values())


@pytest.fixture
def context() -> Iterator[HookContext]:
    found = HookContext(Profiler())
    yield found
    found.remove_all()


def applied(context: HookContext, name: str, module: Any, value: str = "") -> Applied:
    fix = Applied(context, value)
    known_fixes()[name].apply(fix, module)
    return fix


def test_arguments_may_be_positional_or_named(context: HookContext, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")

    precision = applied(context, "full-precision", torch)
    pinned = applied(context, "pinned-memory", torch.utils.data)
    autocast = torch.autocast("cpu", torch.bfloat16, True)
    assert (autocast._enabled, precision.effects) == (False, 1)
    loader = torch.utils.data.DataLoader([1], 1, False, None, None, 0, None, False)
    assert (loader.pin_memory, pinned.effects) == (False, 0)


def test_a_table_may_be_named(context: HookContext, tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    tables = applied(context, "cached-tables", pandas)
    (tmp_path / "a.csv").write_text("x\n1\n")
    name = str(tmp_path / "a.csv")
    assert len(pandas.read_csv(filepath_or_buffer=name)) == len(pandas.read_csv(name)) == 1
    pandas.read_csv(name)
    assert tables.effects == 1


def test_the_environment_may_be_named(context: HookContext) -> None:
    util = pytest.importorskip("stable_baselines3.common.env_util")
    applied(context, "envs", util, "3")
    assert util.make_vec_env(env_id="CartPole-v1").num_envs == 3
    assert util.make_vec_env("CartPole-v1", 2, 7).num_envs == 3
