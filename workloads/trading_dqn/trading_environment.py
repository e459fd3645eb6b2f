"""A Gymnasium environment: hold a short, flat or long position over a stretch of the market."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
import pandas as pd
from numpy.typing import NDArray
from options import FeatureMode
from technical_analyzer import FEATURE_LIMIT, FEATURES, WARM_UP_BARS, TechnicalAnalyzer

Observation = NDArray[np.float32]

EPISODE_BARS = 100
START_CASH = 10_000.0
TRADE_COST = 0.0005  # of what is bought or sold
# Below this share of the start cash, the broker closes the account.
MARGIN_CALL = 0.5
# Rewards are in percent, which puts them near one.
REWARD_SCALE = 100.0
ACTION_NAMES = ("short", "flat", "long")
FLAT = 1


class TradingEnvironment(gym.Env[Observation, np.int64]):
    """An action picks the position for the next bar; the reward is what it earned, in percent."""

    def __init__(self, bars: pd.DataFrame, features: FeatureMode = "once") -> None:
        super().__init__()
        self.bars = bars
        self.feature_mode = features
        self.analyzer = TechnicalAnalyzer()
        self.action_space = gym.spaces.Discrete(len(ACTION_NAMES))
        self.observation_space = gym.spaces.Box(
            -FEATURE_LIMIT, FEATURE_LIMIT, shape=(len(FEATURES) + 1,), dtype=np.float32
        )
        self._close = bars["close"].to_numpy()
        self._features = self.analyzer.features(bars) if features == "once" else None
        self._bar = self._start = self.first_start
        self._position = 0
        self._value = START_CASH

    @property
    def first_start(self) -> int:
        """The earliest bar that an episode can begin at: the indicators need some before."""
        return WARM_UP_BARS

    @property
    def last_start(self) -> int:
        return len(self.bars) - EPISODE_BARS - 1

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin at a random bar, or at the bar `options["start"]`."""
        super().reset(seed=seed)
        if options is not None and "start" in options:
            self._start = int(options["start"])
        else:
            self._start = int(self.np_random.integers(self.first_start, self.last_start + 1))
        self._bar = self._start
        self._position = 0
        self._value = START_CASH
        return self._observe(), self._info(traded=0)

    def step(self, action: int | np.int64) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Take the position at this bar's close and hold it to the next close."""
        position = int(action) - FLAT
        traded = position - self._position
        price_change = self._close[self._bar + 1] / self._close[self._bar] - 1.0
        gain = position * price_change - TRADE_COST * abs(traded)
        self._value *= 1.0 + gain
        self._position = position
        self._bar += 1
        terminated = bool(self._value < MARGIN_CALL * START_CASH)
        truncated = self._bar - self._start >= EPISODE_BARS
        reward = float(REWARD_SCALE * gain)
        return self._observe(), reward, terminated, truncated, self._info(traded)

    def _observe(self) -> Observation:
        """The features of the current bar and the position held."""
        position = np.float32(self._position)
        return np.append(self._current_features(), position)

    def _current_features(self) -> Observation:
        if self._features is not None:
            row: Observation = self._features[self._bar]
        else:
            row = self.analyzer.features(self.bars.iloc[: self._bar + 1])[-1]
        return row

    def _info(self, traded: int) -> dict[str, Any]:
        return {
            "bar": self._bar,
            "price": float(self._close[self._bar]),
            "position": self._position,
            "traded": traded,
            "value": float(self._value),
        }
