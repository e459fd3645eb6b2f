"""Technical indicators, computed with pandas.

Every indicator looks only backwards, so the values at a bar are the same whether later bars are
known or not. That is what lets a program choose between computing them once and at each step.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

FAST_AVERAGE, SLOW_AVERAGE = 10, 30
RSI_BARS = 14
MACD_FAST, MACD_SLOW, MACD_SIGNAL = 12, 26, 9
BOLLINGER_BARS, BOLLINGER_WIDTH = 20, 2.0
ATR_BARS = 14
# The longest memory above, and some more for the exponential averages to settle.
WARM_UP_BARS = 60

FEATURES = (
    "above_fast_average",
    "above_slow_average",
    "averages_apart",
    "rsi",
    "macd",
    "macd_histogram",
    "bollinger_position",
    "bollinger_width",
    "atr",
)
FEATURE_LIMIT = 5.0
# Typical sizes of relative quantities in this market; they bring the features to about one.
AVERAGE_SCALE, MACD_SCALE, HISTOGRAM_SCALE, WIDTH_SCALE, ATR_SCALE = 0.04, 0.02, 0.005, 0.15, 0.015


class TechnicalAnalyzer:
    """Turns price bars into indicators, and indicators into what an agent observes."""

    def indicators(self, bars: pd.DataFrame) -> pd.DataFrame:
        """The indicators in units of price, as they are drawn in charts."""
        close = bars["close"]
        macd, macd_signal = self.macd(close)
        lower, upper = self.bollinger_bands(close)
        return pd.DataFrame(
            {
                "close": close,
                "fast_average": close.rolling(FAST_AVERAGE).mean(),
                "slow_average": close.rolling(SLOW_AVERAGE).mean(),
                "rsi": self.rsi(close),
                "macd": macd,
                "macd_signal": macd_signal,
                "bollinger_lower": lower,
                "bollinger_upper": upper,
                "atr": self.average_true_range(bars),
            }
        )

    def features(self, bars: pd.DataFrame) -> NDArray[np.float32]:
        """One row of FEATURES a bar, free of the price level and within FEATURE_LIMIT."""
        found = self.indicators(bars)
        close = found["close"]
        width = found["bollinger_upper"] - found["bollinger_lower"]
        middle = (found["bollinger_upper"] + found["bollinger_lower"]) / 2.0
        scaled = pd.DataFrame(
            {
                "above_fast_average": (close / found["fast_average"] - 1.0) / AVERAGE_SCALE,
                "above_slow_average": (close / found["slow_average"] - 1.0) / AVERAGE_SCALE,
                "averages_apart": (found["fast_average"] / found["slow_average"] - 1.0)
                / AVERAGE_SCALE,
                "rsi": found["rsi"] / 50.0 - 1.0,
                "macd": found["macd"] / close / MACD_SCALE,
                "macd_histogram": (found["macd"] - found["macd_signal"]) / close / HISTOGRAM_SCALE,
                "bollinger_position": 2.0 * (close - middle) / width,
                "bollinger_width": width / middle / WIDTH_SCALE - 1.0,
                "atr": found["atr"] / close / ATR_SCALE - 1.0,
            },
            columns=list(FEATURES),
        )
        values: NDArray[np.float32] = scaled.to_numpy(dtype=np.float32)
        return np.clip(values, -FEATURE_LIMIT, FEATURE_LIMIT)

    def rsi(self, close: pd.Series) -> pd.Series:
        """Relative strength, 0 to 100: the share of recent movement that went up."""
        change = close.diff()
        gain = change.clip(lower=0.0).ewm(alpha=1.0 / RSI_BARS, adjust=False).mean()
        loss = (-change.clip(upper=0.0)).ewm(alpha=1.0 / RSI_BARS, adjust=False).mean()
        # A market that has not moved at all is as strong as it is weak.
        return (100.0 * gain / (gain + loss)).fillna(50.0)

    def macd(self, close: pd.Series) -> tuple[pd.Series, pd.Series]:
        """The distance of two exponential averages, and its own average: the signal line."""
        fast = close.ewm(span=MACD_FAST, adjust=False).mean()
        slow = close.ewm(span=MACD_SLOW, adjust=False).mean()
        line = fast - slow
        return line, line.ewm(span=MACD_SIGNAL, adjust=False).mean()

    def bollinger_bands(self, close: pd.Series) -> tuple[pd.Series, pd.Series]:
        """Two standard deviations below and above the moving average."""
        window = close.rolling(BOLLINGER_BARS)
        middle, deviation = window.mean(), window.std()
        return middle - BOLLINGER_WIDTH * deviation, middle + BOLLINGER_WIDTH * deviation

    def average_true_range(self, bars: pd.DataFrame) -> pd.Series:
        """How far a bar usually reaches, gaps since the last close included."""
        previous_close = bars["close"].shift()
        reaches = pd.concat(
            (
                bars["high"] - bars["low"],
                (bars["high"] - previous_close).abs(),
                (bars["low"] - previous_close).abs(),
            ),
            axis=1,
        )
        return reaches.max(axis=1).ewm(alpha=1.0 / ATR_BARS, adjust=False).mean()
