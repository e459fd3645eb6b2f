"""What an investor asks about a strategy, from its daily net returns and turnover."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

TRADING_DAYS = 252


@dataclass(frozen=True)
class Performance:
    """A strategy over a stretch of days."""

    total_return: float
    sharpe_ratio: float
    max_drawdown: float
    daily_turnover: float

    def __str__(self) -> str:
        return (
            f"return {self.total_return:+.1%}  Sharpe {self.sharpe_ratio:.2f}  "
            f"drawdown {self.max_drawdown:.1%}  turnover {self.daily_turnover:.1%} a day"
        )


def measure(days: pd.DataFrame) -> Performance:
    """Sum up a table with the columns `net_return` and `turnover`, one row a day."""
    returns = days["net_return"]
    return Performance(
        total_return=float((1.0 + returns).prod() - 1.0),
        sharpe_ratio=sharpe_ratio(returns),
        max_drawdown=max_drawdown(returns),
        daily_turnover=float(days["turnover"].mean()),
    )


def sharpe_ratio(returns: pd.Series) -> float:
    """Yearly mean over yearly spread; cash earns nothing here, so nothing is subtracted."""
    spread = float(returns.std())
    if np.isnan(spread) or spread == 0.0:
        return 0.0
    return float(returns.mean() / spread * TRADING_DAYS**0.5)


def max_drawdown(returns: pd.Series) -> float:
    """The largest fall from a peak, as a share of the peak; the start counts as a peak."""
    wealth = np.concatenate([[1.0], (1.0 + returns).cumprod().to_numpy()])
    return float((1.0 - wealth / np.maximum.accumulate(wealth)).max())
