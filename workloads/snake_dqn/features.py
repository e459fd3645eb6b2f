"""What a snake sees: a short vector of features rather than the whole board.

The flood-fill features tell a snake that is about to lock itself in. They exist twice, as a search
in plain Python and as tensor operations over all games; both give the same numbers, and only the
time differs.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import torch
from boards import MOVES, Boards, cells_ahead, walled
from options import FloodFillMode
from torch import Tensor

BASIC_FEATURES = 11  # three dangers, four headings, four sides the food may lie on
FLOOD_FILL_FEATURES = 3  # room ahead, right and left
# Asking a tensor whether anything changed waits for the device, so the growth asks only now and
# then; extra rounds after the end change nothing.
GROWTH_ROUNDS_BETWEEN_CHECKS = 4

FloodFill = Callable[[Tensor, Tensor], Tensor]


def feature_count(flood_fill: FloodFillMode) -> int:
    return BASIC_FEATURES + (0 if flood_fill == "off" else FLOOD_FILL_FEATURES)


def observe(boards: Boards, flood_fill: FloodFillMode) -> Tensor:
    """The observation of every game: [games, feature_count(flood_fill)]."""
    blocked = walled(boards.body)
    cells = cells_ahead(boards)
    parts = [danger(blocked, cells), heading(boards.direction), food_side(boards)]
    if flood_fill != "off":
        count_reachable = reachable_python if flood_fill == "python" else reachable_vectorized
        parts.append(share_of_free_space(blocked, cells, count_reachable))
    return torch.cat(parts, dim=1)


def danger(blocked: Tensor, cells: Tensor) -> Tensor:
    """1 for each action that ends on a wall or a body: [games, 3]."""
    game = torch.arange(len(cells), device=cells.device)[:, None]
    return blocked[game, cells[..., 0], cells[..., 1]].float()


def heading(direction: Tensor) -> Tensor:
    """The direction as one of four: [games, 4]."""
    return torch.nn.functional.one_hot(direction, len(MOVES)).float()


def food_side(boards: Boards) -> Tensor:
    """1 where the food lies above, right, below, left of the head: [games, 4]."""
    down, right = (boards.food - boards.head).unbind(dim=1)
    return torch.stack((down < 0, right > 0, down > 0, right < 0), dim=1).float()


def share_of_free_space(blocked: Tensor, cells: Tensor, count_reachable: FloodFill) -> Tensor:
    """The share of free cells within reach after each action: [games, 3]."""
    free = (~blocked).sum(dim=(1, 2)).clamp(min=1)
    return count_reachable(blocked, cells).float() / free[:, None].float()


def reachable_python(blocked: Tensor, cells: Tensor) -> Tensor:
    """Count the cells within reach of each start by a search in Python: [games, 3]."""
    boards = blocked.cpu().tolist()
    starts = cells.cpu().tolist()
    counts = [
        [breadth_first_count(board, row, column) for row, column in game_starts]
        for board, game_starts in zip(boards, starts, strict=True)
    ]
    return torch.tensor(counts, device=blocked.device)


def breadth_first_count(blocked: list[list[bool]], row: int, column: int) -> int:
    """How many free cells hang together with this one; 0 where it is itself blocked."""
    if blocked[row][column]:
        return 0
    seen = {(row, column)}
    queue = deque(seen)
    while queue:
        row, column = queue.popleft()
        for row_move, column_move in MOVES:
            neighbour = (row + row_move, column + column_move)
            if neighbour not in seen and not blocked[neighbour[0]][neighbour[1]]:
                seen.add(neighbour)
                queue.append(neighbour)
    return len(seen)


def reachable_vectorized(blocked: Tensor, cells: Tensor) -> Tensor:
    """Count the cells within reach of each start by growing all regions at once: [games, 3]."""
    games, starts = cells.shape[:2]
    game = torch.arange(games, device=cells.device)[:, None]
    start = torch.arange(starts, device=cells.device)[None, :]
    free = ~blocked[:, None].expand(-1, starts, -1, -1)
    region = torch.zeros(free.shape, dtype=torch.bool, device=blocked.device)
    region[game, start, cells[..., 0], cells[..., 1]] = True
    region &= free
    while True:
        before = region
        for _ in range(GROWTH_ROUNDS_BETWEEN_CHECKS):
            region = grow(region) & free
        if torch.equal(region, before):
            return region.sum(dim=(2, 3))


def grow(region: Tensor) -> Tensor:
    """Spread by one cell up, down, left and right; the wall keeps it off the edges."""
    grown = region.clone()
    grown[..., 1:, :] |= region[..., :-1, :]
    grown[..., :-1, :] |= region[..., 1:, :]
    grown[..., :, 1:] |= region[..., :, :-1]
    grown[..., :, :-1] |= region[..., :, 1:]
    return grown
