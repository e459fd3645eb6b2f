"""The game as a Gymnasium environment: pictures in, slides out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium as gym
import numpy as np
from board import Board, Cell
from gymnasium import spaces
from rendering import ROBOTS, observe

STEP_REWARD = -0.05  # a short solution is better than a long one
GOAL_REWARD = 1.0
LONGEST_EPISODE = 12


class RicochetEnv(gym.Env[np.ndarray, np.int64]):
    """Bring the first robot to the target; the others are obstacles that can be moved, too.

    Each episode is played on one of the boards, drawn at random.

    An action is a robot and a direction: `4 * robot + direction`.
    """

    def __init__(self, boards: Sequence[Board], robots: int, pixels: int) -> None:
        if not 1 <= robots <= len(ROBOTS):
            raise ValueError(f"there can be 1 to {len(ROBOTS)} robots, not {robots}")
        self._boards = boards
        self._board = boards[0]
        self._count = robots
        self._pixels = pixels
        self._robots: list[Cell] = []
        self._moves = 0
        self.observation_space = spaces.Box(0, 255, (pixels, pixels, 3), np.uint8)
        self.action_space = spaces.Discrete(4 * robots)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Put the robots on different cells, the first one some way from the target."""
        super().reset(seed=seed)
        self._board = self._boards[int(self.np_random.integers(len(self._boards)))]
        starts = self._board.starts
        self._robots = [starts[int(self.np_random.integers(len(starts)))]]
        while len(self._robots) < self._count:
            row, column = self.np_random.integers(self._board.size, size=2)
            cell = (int(row), int(column))
            if cell not in self._robots and cell != self._board.target:
                self._robots.append(cell)
        self._moves = 0
        return observe(self._board, self._robots, self._pixels), {}

    def step(self, action: np.int64) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Let one robot slide."""
        robot, direction = divmod(int(action), 4)
        self._robots[robot] = self._board.slide(self._robots, robot, direction)
        self._moves += 1
        solved = self._robots[0] == self._board.target
        reward = STEP_REWARD + (GOAL_REWARD if solved else 0.0)
        truncated = not solved and self._moves >= LONGEST_EPISODE
        picture = observe(self._board, self._robots, self._pixels)
        return picture, reward, solved, truncated, {"solved": solved}
