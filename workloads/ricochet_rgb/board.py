"""The rules of the game: robots on a walled board slide until something stops them."""

from __future__ import annotations

import random
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

Cell = tuple[int, int]
"""A row and a column, counted from the top left corner."""

UP, RIGHT, DOWN, LEFT = range(4)
STEPS: tuple[Cell, ...] = ((-1, 0), (0, 1), (1, 0), (0, -1))
FAR_ENOUGH = 2  # moves from start to target, so that no episode is won by one lucky slide


@dataclass(frozen=True)
class Board:
    """Walls and a target. `walls` holds a cell and a direction for each side that is closed."""

    size: int
    walls: frozenset[tuple[Cell, int]]
    target: Cell

    def slide(self, robots: Sequence[Cell], robot: int, direction: int) -> Cell:
        """Where a robot stops that is sent off in a direction."""
        row, column = robots[robot]
        down, right = STEPS[direction]
        while not self._closed((row, column), direction):
            following = (row + down, column + right)
            if following in robots:
                break
            row, column = following
        return row, column

    def _closed(self, cell: Cell, direction: int) -> bool:
        row, column = cell[0] + STEPS[direction][0], cell[1] + STEPS[direction][1]
        inside = 0 <= row < self.size and 0 <= column < self.size
        return not inside or (cell, direction) in self.walls

    @cached_property
    def distances(self) -> dict[Cell, int]:
        """The fewest moves of a lone robot to the target, from each cell that it can start on."""
        found = {}
        for row in range(self.size):
            for column in range(self.size):
                moves = self._fewest_moves((row, column))
                if moves is not None:
                    found[row, column] = moves
        return found

    @cached_property
    def starts(self) -> tuple[Cell, ...]:
        """Cells from which the target can be reached, but not at once."""
        return tuple(cell for cell, moves in self.distances.items() if moves >= FAR_ENOUGH)

    def _fewest_moves(self, start: Cell) -> int | None:
        seen, queue = {start: 0}, deque([start])
        while queue:
            cell = queue.popleft()
            if cell == self.target:
                return seen[cell]
            for direction in range(4):
                stop = self.slide([cell], 0, direction)
                if stop not in seen:
                    seen[stop] = seen[cell] + 1
                    queue.append(stop)
        return None


def random_boards(size: int, walls: int, targets: int, seed: int) -> tuple[Board, ...]:
    """Boards with the same walls, their targets where they can be reached from most cells."""
    rng = random.Random(seed)
    closed: set[tuple[Cell, int]] = set()
    for _ in range(walls):
        row, column = rng.randrange(size), rng.randrange(size)
        direction = rng.randrange(4)
        closed.add(((row, column), direction))
        down, right = STEPS[direction]
        closed.add(((row + down, column + right), (direction + 2) % 4))
    sides = frozenset(closed)
    cells = [(row, column) for row in range(size) for column in range(size)]
    rng.shuffle(cells)
    boards = [Board(size, sides, cell) for cell in cells]
    boards.sort(key=lambda board: len(board.starts), reverse=True)
    return tuple(boards[:targets])
