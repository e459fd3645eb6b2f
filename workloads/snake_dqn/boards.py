"""Many Snake boards as tensors, and the geometry that the game and its observations share.

A cell of `body` holds in how many moves the snake will have left it: the head holds the snake's
length, the tail 1, a free cell 0. Moving a snake is then one subtraction, with no list of segments
to shift.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

# Row and column of one move up, right, down, left: clockwise, so that +1 is a right turn.
MOVES = ((-1, 0), (0, 1), (1, 0), (0, -1))
# What the three actions (straight, right, left) add to the direction.
TURNS = (0, 1, 3)
STRAIGHT, RIGHT, LEFT = range(3)


@dataclass
class Boards:
    """The state of `len(head)` games; row i of every tensor belongs to game i."""

    body: Tensor  # [games, size, size], moves until each cell is left
    head: Tensor  # [games, 2], row and column
    direction: Tensor  # [games], index into MOVES
    food: Tensor  # [games, 2], row and column

    @property
    def games(self) -> int:
        return self.body.shape[0]

    @property
    def size(self) -> int:
        return self.body.shape[1]


def walled(body: Tensor) -> Tensor:
    """Which cells a snake dies on, with a border of wall: [games, size + 2, size + 2]."""
    blocked = torch.ones(
        (body.shape[0], body.shape[1] + 2, body.shape[2] + 2), dtype=torch.bool, device=body.device
    )
    blocked[:, 1:-1, 1:-1] = body > 0
    return blocked


def cells_ahead(boards: Boards) -> Tensor:
    """The cell that each action leads to, counted from the wall's corner: [games, 3, 2]."""
    device = boards.head.device
    turns = torch.tensor(TURNS, device=device)
    moves = torch.tensor(MOVES, device=device)
    directions = (boards.direction[:, None] + turns) % len(MOVES)
    return boards.head[:, None, :] + moves[directions] + 1
