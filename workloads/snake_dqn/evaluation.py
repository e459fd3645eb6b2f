"""How well a player plays: whole games, without learning, on boards of their own."""

from __future__ import annotations

from collections.abc import Callable
from statistics import fmean, stdev
from typing import NamedTuple

import torch
from boards import TURNS
from snake_env import SnakeEnv
from torch import Tensor, nn

Player = Callable[[Tensor], Tensor]


class Score(NamedTuple):
    """Returns of the games played, as their mean and the standard error of that mean."""

    mean: float
    standard_error: float
    games: int


def greedy_player(network: nn.Module) -> Player:
    """Always the action that the network values most."""

    def play(observations: Tensor) -> Tensor:
        values: Tensor = network(observations)
        return values.argmax(dim=1)

    return play


def random_player(seed: int, device: torch.device) -> Player:
    """Every action as likely as the others."""
    random = torch.Generator(device=device).manual_seed(seed)

    def play(observations: Tensor) -> Tensor:
        return torch.randint(len(TURNS), (len(observations),), generator=random, device=device)

    return play


@torch.no_grad()
def evaluate(env: SnakeEnv, player: Player) -> Score:
    """Play one game on every board and average their returns.

    Only the first game of a board counts. Counting later ones would favour short games, because
    boards that end early would fit in more of them.
    """
    observations = env.reset()
    first_returns = torch.zeros(env.games, device=env.device)
    playing = torch.ones(env.games, dtype=torch.bool, device=env.device)
    while playing.any():
        step = env.step(player(observations))
        first_returns += step.rewards * playing
        playing &= ~step.dones
        observations = step.observations
    returns = first_returns.tolist()
    spread = stdev(returns) if len(returns) > 1 else 0.0
    return Score(fmean(returns), spread / len(returns) ** 0.5, len(returns))
