"""The market: made from a seed instead of downloaded, then kept as a CSV file.

Prices run through regimes. In a rising or falling one they drift, so recent gains foretell more; in
a ranging one they are pulled back to a level, so recent gains foretell losses. Both show in common
indicators, which is what makes the market worth learning.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

COLUMNS = ("date", "open", "high", "low", "close", "volume")
FIRST_DAY = "2000-01-03"
START_PRICE = 100.0
PRICE_DECIMALS = 4
# Part of the file's name: a change to how markets are made must not find old files.
MARKET_VERSION = 1


@dataclass(frozen=True)
class Regime:
    """How the logarithm of the price moves from bar to bar."""

    drift: float
    pull: float  # share of the distance to the regime's level that a bar takes back
    noise: float
    mean_bars: int


# Far clearer than a real market, so that some hundred bars are enough to learn from.
REGIMES = (
    Regime(drift=+0.010, pull=0.0, noise=0.006, mean_bars=30),
    Regime(drift=-0.010, pull=0.0, noise=0.006, mean_bars=30),
    Regime(drift=0.0, pull=0.5, noise=0.015, mean_bars=30),
)


class DataFetcher:
    """Gives the bars of a market, from the data folder where it has them already."""

    def __init__(self, data_dir: Path, seed: int) -> None:
        self.data_dir = data_dir
        self.seed = seed

    def path(self, bars: int) -> Path:
        return self.data_dir / f"market-v{MARKET_VERSION}-seed{self.seed}-bars{bars}.csv"

    def fetch(self, bars: int) -> pd.DataFrame:
        """Daily bars with the columns of COLUMNS, the oldest first."""
        path = self.path(bars)
        if not path.exists():
            self._store(make_market(bars, self.seed), path)
        # Always read back, so that a first run and later ones see the same digits.
        return pd.read_csv(path, parse_dates=["date"], float_precision="round_trip")

    def _store(self, market: pd.DataFrame, path: Path) -> None:
        """Write beside the file and move into place: another run never reads half a file."""
        self.data_dir.mkdir(parents=True, exist_ok=True)
        unfinished = path.with_suffix(f".{os.getpid()}.tmp")
        market.to_csv(unfinished, index=False)
        unfinished.replace(path)


def make_market(bars: int, seed: int) -> pd.DataFrame:
    """Open, high, low, close and volume of as many bars as asked for."""
    random = np.random.default_rng(seed)
    close = START_PRICE * np.exp(log_price_path(bars, random))
    opened = np.concatenate(([START_PRICE], close[:-1]))
    reach_up, reach_down = np.abs(random.normal(scale=0.003, size=(2, bars)))
    prices = {
        "open": opened,
        "high": np.maximum(opened, close) * (1.0 + reach_up),
        "low": np.minimum(opened, close) * (1.0 - reach_down),
        "close": close,
    }
    return pd.DataFrame(
        {
            "date": pd.bdate_range(FIRST_DAY, periods=bars),
            **{name: values.round(PRICE_DECIMALS) for name, values in prices.items()},
            "volume": random.integers(100_000, 1_000_000, size=bars),
        }
    )


def log_price_path(bars: int, random: np.random.Generator) -> NDArray[np.float64]:
    """Walk through randomly chosen regimes, each for a random time."""
    path = np.empty(bars)
    current = level = 0.0
    bars_left = 0
    regime = REGIMES[0]
    for bar in range(bars):
        if bars_left == 0:
            regime = balanced_choice(current, random)
            bars_left = int(random.geometric(1.0 / regime.mean_bars))
            level = current
        pull = regime.pull * (level - current)
        current += regime.drift + pull + regime.noise * random.normal()
        path[bar] = current
        bars_left -= 1
    return path


def balanced_choice(log_price: float, random: np.random.Generator) -> Regime:
    """Any regime, with trends away from the start price less likely the further it is.

    Without this, a long market would drift to prices of thousands or of fractions of a cent.
    """
    lean = float(np.clip(log_price, -1.0, 1.0))
    weights = np.array([1.0 - lean, 1.0 + lean, 1.0])
    return REGIMES[random.choice(len(REGIMES), p=weights / weights.sum())]
