"""Patches of rows of tables, and results that are kept."""

from __future__ import annotations

from pathlib import Path

import pytest
from patched_programs import patched


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('p = df.iloc[t]["close"]', 'p = df["close"].to_numpy()[t]'),
        ('p = df.iloc[a:b]["close"]', 'p = df["close"].iloc[a:b]'),
    ],
)
def test_one_column_is_read(tmp_path: Path, line: str, expected: str) -> None:
    after = patched(tmp_path, "pandas-in-step", f"def f(self):\n    {line}\n", line)
    assert after == f"def f(self):\n    {expected}\n"


def test_a_row_whose_columns_are_read(tmp_path: Path) -> None:
    source = """
        def price(self):
            row = self.df.iloc[self.t]
            return row["close"] - row["open"]
    """
    after = patched(tmp_path, "pandas-in-step", source, "iloc")
    assert after is not None
    assert 'self.df["close"].to_numpy()[self.t] - self.df["open"].to_numpy()[self.t]' in after
    assert "row" not in after
    other = source.replace('row["open"]', "row.sum()")
    assert patched(tmp_path, "pandas-in-step", other, "iloc") is None


KEPT = """
    class World:
        def __init__(self):
            self.cells, self.t = [1, 2], 0

        def load(self):
            return list(self.cells)

        def step(self):
            self.t += 1
"""


def test_results_that_depend_on_no_state_are_kept(tmp_path: Path) -> None:
    after = patched(tmp_path, "slow-reset", KEPT, "return list")
    assert after is not None
    names: dict[str, object] = {}
    exec(after, names)
    world = names["World"]()  # type: ignore[operator]
    first = world.load()
    first.append(3)
    assert world.load() == [1, 2]


@pytest.mark.parametrize("state", ["self.t", "self.rng.random()", "self.cells.pop()"])
def test_results_that_depend_on_state_are_not_kept(tmp_path: Path, state: str) -> None:
    source = KEPT.replace("list(self.cells)", f"[{state}]")
    assert patched(tmp_path, "slow-reset", source, "return [") is None


@pytest.mark.parametrize(
    ("base", "body"),
    [
        ("torch.nn.Module", "return x * self.weight"),
        ("Base", "return x * self.of_the_base"),
        ("Base", "return self.space.sample() * x"),
        ("Base", "return self.game(x)"),
        ("Base", "return x * self.now()"),
    ],
)
def test_results_that_depend_on_more_than_arguments_are_not_kept(
    tmp_path: Path, base: str, body: str
) -> None:
    source = f"""
        import torch

        class World({base}):
            def __init__(self):
                self.weight, self.space, self.game, self.t = 1.0, Space(), Game(), 0

            def now(self):
                return self.t

            def step(self):
                self.t += 1

            def see(self, x):
                {body}
    """
    assert patched(tmp_path, "redundant-work-in-step", source, body) is None
