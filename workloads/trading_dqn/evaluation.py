"""How well a trader trades: whole episodes, without learning, on bars not trained on."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, stdev
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from trading_environment import ACTION_NAMES, EPISODE_BARS, TradingEnvironment

Trader = Callable[[NDArray[np.float32]], NDArray[np.int64]]


class Score(NamedTuple):
    """Returns of the episodes traded, as their mean and the standard error of that mean."""

    mean: float
    standard_error: float
    episodes: int


def random_trader(seed: int) -> Trader:
    """Every position as likely as the others, at every bar."""
    random = np.random.default_rng(seed)

    def trade(observations: NDArray[np.float32]) -> NDArray[np.int64]:
        return random.integers(len(ACTION_NAMES), size=len(observations))

    return trade


def evaluate(bars: pd.DataFrame, trader: Trader) -> Score:
    """Trade all episodes that fit into the bars without overlap, side by side.

    Side by side, because one question about many observations costs the network hardly more than
    one about a single observation.
    """
    ruler = TradingEnvironment(bars)
    starts = range(ruler.first_start, ruler.last_start + 1, EPISODE_BARS)
    environments = [TradingEnvironment(bars) for _ in starts]
    observations = [
        environment.reset(options={"start": start})[0]
        for environment, start in zip(environments, starts, strict=True)
    ]
    returns = [0.0] * len(environments)
    playing = [True] * len(environments)
    while any(playing):
        actions = trader(np.stack(observations))
        for i, environment in enumerate(environments):
            if playing[i]:
                observations[i], reward, terminated, truncated, _ = environment.step(actions[i])
                returns[i] += reward
                playing[i] = not (terminated or truncated)
    spread = stdev(returns) if len(returns) > 1 else 0.0
    return Score(fmean(returns), spread / len(returns) ** 0.5, len(returns))
