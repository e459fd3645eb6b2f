"""From raw prices to what the agent sees, with pandas; the costly part can be kept as Parquet.

All features of a day are known at its close: they look back, never forward.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow  # noqa: F401  # pandas reads Parquet with it, and would notice only then
from market import make_prices

FEATURES = ("momentum_1", "momentum_5", "momentum_20", "volatility_20", "volume_z")
LONGEST_LOOKBACK = 60
FEATURE_LIMIT = 5.0  # a feature is in units of its usual spread; beyond this it is an outlier


@dataclass(frozen=True)
class MarketData:
    """Days in a row: `features` is (days, assets, features), `returns` is (days, assets).

    A day's returns are those from the close before to its own close.
    """

    features: np.ndarray
    returns: np.ndarray

    def __len__(self) -> int:
        return len(self.returns)

    def between(self, first: int, last: int) -> MarketData:
        """The days from `first` up to, but not including, `last`."""
        return MarketData(self.features[first:last], self.returns[first:last])


@dataclass(frozen=True)
class Window:
    """A stretch of days to train on, and the days right after it to be judged by."""

    training: MarketData
    testing: MarketData


def load_data(folder: Path, kind: str, days: int, seed: int) -> MarketData:
    """Read preprocessed Parquet, or raw CSV to be preprocessed now; make what is not there yet."""
    raw_file = folder / f"prices-{days}-{seed}.csv"
    if not raw_file.exists():
        _write(raw_file, make_prices(days, seed))
    if kind == "csv":
        return to_market_data(preprocess(pd.read_csv(raw_file, parse_dates=["date"])))
    ready_file = folder / f"features-{days}-{seed}.parquet"
    if not ready_file.exists():
        _write(ready_file, preprocess(pd.read_csv(raw_file, parse_dates=["date"])))
    return to_market_data(pd.read_parquet(ready_file))


def preprocess(prices: pd.DataFrame) -> pd.DataFrame:
    """Add returns and features to raw prices, one row for each day and symbol."""
    table = prices.sort_values(["symbol", "date"], ignore_index=True)
    table["return"] = table.groupby("symbol")["close"].pct_change()
    by_symbol = table.groupby("symbol")
    daily_spread = by_symbol["return"].transform(
        lambda returns: returns.rolling(LONGEST_LOOKBACK).std()
    )
    for days in (1, 5, 20):
        change = by_symbol["close"].pct_change(days)
        table[f"momentum_{days}"] = change / (daily_spread * days**0.5)
    recent_spread = by_symbol["return"].transform(lambda returns: returns.rolling(20).std())
    table["volatility_20"] = recent_spread / daily_spread - 1.0
    table["volume_z"] = np.log(table["volume"]).groupby(table["symbol"]).transform(_rolling_z)
    table[list(FEATURES)] = table[list(FEATURES)].clip(-FEATURE_LIMIT, FEATURE_LIMIT)
    return table.dropna(ignore_index=True)


def _rolling_z(series: pd.Series) -> pd.Series:
    window = series.rolling(LONGEST_LOOKBACK)
    return (series - window.mean()) / window.std()


def to_market_data(table: pd.DataFrame) -> MarketData:
    """Arrange a preprocessed table as arrays, which is what an environment can step through."""
    wide = table.pivot(index="date", columns="symbol")
    features = np.stack([wide[name].to_numpy(np.float32) for name in FEATURES], axis=-1)
    return MarketData(features, wide["return"].to_numpy(np.float64))


def sliding_windows(
    data: MarketData, count: int, training_days: int, testing_days: int
) -> Iterator[Window]:
    """Windows that end with the data and slide on by one testing period at a time."""
    first = len(data) - training_days - count * testing_days
    if first < 0:
        raise ValueError(
            f"{count} windows need {training_days + count * testing_days} days; "
            f"the data has {len(data)}"
        )
    for start in range(first, first + count * testing_days, testing_days):
        middle = start + training_days
        yield Window(data.between(start, middle), data.between(middle, middle + testing_days))


def _write(file: Path, table: pd.DataFrame) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    # Written aside and renamed, so that a second run never reads half a file.
    unfinished = file.with_name(f"{file.name}.{os.getpid()}")
    if file.suffix == ".csv":
        table.to_csv(unfinished, index=False)
    else:
        table.to_parquet(unfinished, index=False)
    unfinished.replace(file)
