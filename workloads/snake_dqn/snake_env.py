"""Snake, many games at a time: one call of `step` moves the snake of every game.

A game that ends is started again within the same step, so the batch never has gaps. The
observation that follows an end belongs to the next game; a learner must not look past it.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from boards import MOVES, TURNS, Boards
from features import observe
from options import FloodFillMode
from torch import Tensor

START_LENGTH = 3
FOOD_REWARD = 1.0
DEATH_REWARD = -1.0


class Step(NamedTuple):
    """What one move of every snake led to."""

    observations: Tensor  # [games, features]
    rewards: Tensor  # [games]
    dones: Tensor  # [games], True where a game ended
    ended_returns: Tensor  # [ended games], the rewards that each ended game added up to
    ended_lengths: Tensor  # [ended games], the moves that each ended game took


class SnakeEnv:
    """`games` boards of `size` by `size` cells that live on one device."""

    def __init__(
        self,
        games: int,
        size: int,
        seed: int,
        device: torch.device,
        flood_fill: FloodFillMode = "off",
    ) -> None:
        self.games = games
        self.size = size
        self.flood_fill = flood_fill
        self.device = device
        # A snake that circles for ever would never end its game; it starves instead.
        self.hunger_limit = size * size
        self._random = torch.Generator(device=device).manual_seed(seed)
        self._moves = torch.tensor(MOVES, device=device)
        self._turns = torch.tensor(TURNS, device=device)
        self._all_games = torch.arange(games, device=device)
        self._boards = Boards(
            body=torch.zeros((games, size, size), dtype=torch.int32, device=device),
            head=torch.zeros((games, 2), dtype=torch.int64, device=device),
            direction=torch.zeros(games, dtype=torch.int64, device=device),
            food=torch.zeros((games, 2), dtype=torch.int64, device=device),
        )
        self._length = torch.zeros(games, dtype=torch.int32, device=device)
        self._hunger = torch.zeros(games, dtype=torch.int64, device=device)
        self._returns = torch.zeros(games, device=device)
        self._moves_made = torch.zeros(games, dtype=torch.int64, device=device)

    @property
    def boards(self) -> Boards:
        return self._boards

    def reset(self) -> Tensor:
        """Start every game anew and give the first observations."""
        self._restart(self._all_games)
        return observe(self._boards, self.flood_fill)

    def step(self, actions: Tensor) -> Step:
        """Move every snake: 0 is straight on, 1 a right turn, 2 a left turn."""
        ate, crashed = self._move(actions)
        self._hunger = torch.where(ate, 0, self._hunger + 1)
        full = self._length >= self.size * self.size
        dead = crashed | (self._hunger >= self.hunger_limit)
        dones = dead | full
        rewards = FOOD_REWARD * ate.float() + DEATH_REWARD * dead.float()
        self._returns += rewards
        self._moves_made += 1

        ended = dones.nonzero().squeeze(1)
        ended_returns = self._returns[ended]
        ended_lengths = self._moves_made[ended]
        self._place_food((ate & ~dones).nonzero().squeeze(1))
        self._restart(ended)
        observations = observe(self._boards, self.flood_fill)
        return Step(observations, rewards, dones, ended_returns, ended_lengths)

    def _move(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        """Move the heads and the bodies; say which snakes ate and which crashed."""
        boards = self._boards
        boards.direction = (boards.direction + self._turns[actions]) % len(MOVES)
        target = boards.head + self._moves[boards.direction]
        inside = ((target >= 0) & (target < self.size)).all(dim=1)
        boards.head = target.clamp(0, self.size - 1)
        row, column = boards.head.unbind(dim=1)

        ate = inside & (boards.head == boards.food).all(dim=1)
        # The tail leaves its cell before the head arrives, unless the snake grows.
        shrink = (~ate).to(boards.body.dtype)
        boards.body = (boards.body - shrink[:, None, None]).clamp_(min=0)
        crashed = ~inside | (boards.body[self._all_games, row, column] > 0)
        self._length = self._length + ate.to(self._length.dtype)
        boards.body[self._all_games, row, column] = self._length
        return ate, crashed

    def _restart(self, games: Tensor) -> None:
        """Put a short snake with a random heading near the middle of these boards."""
        if len(games) == 0:
            return
        boards = self._boards
        direction = torch.randint(
            len(MOVES), (len(games),), generator=self._random, device=self.device
        )
        head = torch.full((len(games), 2), self.size // 2, device=self.device)
        boards.body[games] = 0
        for segment in range(START_LENGTH):
            row, column = (head - segment * self._moves[direction]).unbind(dim=1)
            boards.body[games, row, column] = START_LENGTH - segment
        boards.head[games] = head
        boards.direction[games] = direction
        self._length[games] = START_LENGTH
        self._hunger[games] = 0
        self._returns[games] = 0.0
        self._moves_made[games] = 0
        self._place_food(games)

    def _place_food(self, games: Tensor) -> None:
        """Put the food of these games on a free cell, each as likely as the others."""
        if len(games) == 0:
            return
        occupied = self._boards.body[games].flatten(start_dim=1) > 0
        lots = torch.rand(occupied.shape, generator=self._random, device=self.device)
        cell = lots.masked_fill_(occupied, -1.0).argmax(dim=1)
        self._boards.food[games] = torch.stack((cell // self.size, cell % self.size), dim=1)
