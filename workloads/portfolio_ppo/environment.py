"""A portfolio over several assets and cash, rebalanced once a day, with transaction costs."""

from __future__ import annotations

from typing import Any

import gymnasium as gym
import numpy as np
from gymnasium import spaces
from preprocessing import MarketData

COST = 0.001  # of the value that changes hands, as at a cheap broker
# How strongly an action of 1 is preferred to one of -1: e to the 6th, nearly all or nothing.
CONVICTION = 3.0
REWARD_SCALE = 100.0  # rewards are in percent, which suits the value network better

Observation = np.ndarray


class PortfolioEnv(gym.Env[Observation, np.ndarray]):
    """An episode is a number of days in a row, from a random first day on (or the first of all).

    The action scores each asset and cash; a softmax turns the scores into shares of the portfolio.
    The reward is the logarithm of the day's growth after costs, in percent.
    """

    def __init__(
        self, data: MarketData, episode_days: int | None = None, *, random_start: bool = True
    ) -> None:
        self._data = data
        # The last day's features lead to a return that is not known yet.
        self._longest = len(data) - 1
        self._episode_days = min(episode_days or self._longest, self._longest)
        self._random_start = random_start
        assets, features = data.features.shape[1:]
        self.action_space = spaces.Box(-1.0, 1.0, (assets + 1,), np.float32)
        self.observation_space = spaces.Box(
            -np.inf, np.inf, (assets * features + assets + 1,), np.float32
        )
        self._weights = np.zeros(assets + 1)
        self._day = 0
        self._last_day = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin with everything in cash."""
        super().reset(seed=seed)
        self._day = 0
        if self._random_start:
            self._day = int(self.np_random.integers(self._longest - self._episode_days + 1))
        self._last_day = self._day + self._episode_days
        self._weights = np.zeros_like(self._weights)
        self._weights[-1] = 1.0
        return self._observe(), {}

    def step(self, action: np.ndarray) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Trade at today's close, then live through the next day."""
        wanted = shares(action)
        turnover = float(np.abs(wanted - self._weights).sum()) / 2
        self._day += 1
        growth = wanted * np.append(1.0 + self._data.returns[self._day], 1.0)
        net_growth = float(growth.sum()) * (1.0 - 2 * COST * turnover)
        self._weights = growth / growth.sum()
        info = {"net_return": net_growth - 1.0, "turnover": turnover}
        # A market does not end; the episode is cut off, so the rest is worth what comes after.
        truncated = self._day >= self._last_day
        reward = REWARD_SCALE * float(np.log(net_growth))
        return self._observe(), reward, False, truncated, info

    def _observe(self) -> Observation:
        features = self._data.features[self._day].ravel()
        return np.concatenate([features, self._weights]).astype(np.float32)


def shares(action: np.ndarray) -> np.ndarray:
    """Turn scores into shares that add up to one."""
    scores = np.exp(CONVICTION * np.asarray(action, dtype=np.float64))
    return np.asarray(scores / scores.sum())
