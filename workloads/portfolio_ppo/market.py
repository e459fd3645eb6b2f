"""An invented stock market, the same for the same seed, so that nothing has to be downloaded.

Each asset's expected return drifts slowly up and down. Nobody sees the drift itself, but trading
volume follows it with some noise, and so do past returns. An agent that reads these well earns
more than one that holds everything, and one that trades too eagerly loses it again in costs.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

SYMBOLS = ("ALDER", "BIRCH", "CEDAR", "DOGWOOD", "ELM", "FIR", "GINKGO", "HAZEL")
FIRST_DAY = "2001-01-01"
PERSISTENCE = 0.96  # of the drift from one day to the next: a trend lasts a few weeks
DRIFT_SPREAD = 0.005
ASSET_NOISE = 0.006
MARKET_NOISE = 0.004
MARKET_DRIFT = 0.0002
VOLUME_FOLLOWS_DRIFT = 0.8
VOLUME_NOISE = 0.3


def make_prices(days: int, seed: int) -> pd.DataFrame:
    """Daily prices and volumes as a vendor delivers them: one row for each day and symbol."""
    rng = np.random.default_rng(seed)
    drift = _slow_drift(days, rng)
    # What moves today's price was in yesterday's drift, and so in yesterday's volume.
    returns = np.vstack([np.zeros((1, len(SYMBOLS))), drift[:-1]]) + MARKET_DRIFT
    returns += rng.normal(0.0, MARKET_NOISE, (days, 1))
    returns += rng.normal(0.0, ASSET_NOISE, (days, len(SYMBOLS)))
    closes = 100.0 * np.exp(np.cumsum(returns, axis=0))
    chatter = rng.normal(0.0, VOLUME_NOISE, (days, len(SYMBOLS)))
    volumes = 1e6 * np.exp(VOLUME_FOLLOWS_DRIFT * drift / DRIFT_SPREAD + chatter)
    dates = pd.bdate_range(FIRST_DAY, periods=days)
    return pd.DataFrame(
        {
            "date": dates.repeat(len(SYMBOLS)),
            "symbol": np.tile(SYMBOLS, days),
            "close": closes.ravel().round(4),
            "volume": volumes.ravel().round().astype(np.int64),
        }
    )


def _slow_drift(days: int, rng: np.random.Generator) -> np.ndarray:
    shocks = rng.normal(0.0, DRIFT_SPREAD * (1 - PERSISTENCE**2) ** 0.5, (days, len(SYMBOLS)))
    drift = np.empty((days, len(SYMBOLS)))
    drift[0] = rng.normal(0.0, DRIFT_SPREAD, len(SYMBOLS))
    for day in range(1, days):
        drift[day] = PERSISTENCE * drift[day - 1] + shocks[day]
    return drift
