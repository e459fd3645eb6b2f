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
        ('p = df["close"].iloc[t]', 'p = df["close"].to_numpy()[t]'),
        ('p = df.loc[t, "close"]', 'p = df["close"].to_numpy()[t]'),
        ('p = df.at[self.t, "close"]', 'p = df["close"].to_numpy()[self.t]'),
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
    named = source.replace('row["close"] - row["open"]', "row.close - row.open")
    assert patched(tmp_path, "pandas-in-step", named, "iloc") == after.replace('"', "'")
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


def test_what_a_reset_loads_is_kept(tmp_path: Path) -> None:
    source = (
        KEPT
        + """
        def begin(self):
            return self.load() + [self.t]

        def reset(self):
            self.level = self.begin()
            return self.level
    """
    )
    after = patched(tmp_path, "slow-reset", source, "self.level = self.begin")
    assert after is not None
    assert "@_kept\n    def load" in after
    assert after.count("@_kept") == 1


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


ROW = """
    def price(self):
        row = self.df.iloc[self.t]
        BETWEEN
        return READ

    def advance(self):
        self.t += 1
"""


@pytest.mark.parametrize(
    ("between", "read"),
    [
        ("pass", "row.values"),
        ("pass", "row.size * row.open"),
        ("row.seen = 1", "row.open"),
        ("row['seen'] = 1", "row['open']"),
        ("self.t += 1", "row['open']"),
        ("self.df = other", "row['open']"),
        ("self.df.loc[0, 'open'] = 1", "row['open']"),
        ("self.advance()", "row['open']"),
    ],
)
def test_a_row_that_is_more_than_its_columns_or_becomes_another_stays(
    tmp_path: Path, between: str, read: str
) -> None:
    source = ROW.replace("BETWEEN", between).replace("READ", read)
    assert patched(tmp_path, "pandas-in-step", source, "iloc[") is None


@pytest.mark.parametrize("index", ["random.randrange(9)", "self.draw()"])
def test_a_row_whose_index_is_drawn_stays(tmp_path: Path, index: str) -> None:
    source = ROW.replace("self.t]", f"{index}]").replace("READ", "row['open']")
    source = source.replace("BETWEEN", "pass")
    assert patched(tmp_path, "pandas-in-step", source, "iloc[") is None


def test_the_time_may_advance_once_a_row_is_read(tmp_path: Path) -> None:
    source = ROW.replace("BETWEEN", "value = row['open']; self.t += 1").replace("READ", "value")
    after = patched(tmp_path, "pandas-in-step", source, "iloc[")
    assert after is not None
    assert "value = self.df['open'].to_numpy()[self.t]; self.t += 1" in after
