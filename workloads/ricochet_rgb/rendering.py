"""Draws the board as a picture, which is all that the agent gets to see."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from board import DOWN, LEFT, RIGHT, UP, Board, Cell
from PIL import Image, ImageDraw

from hotloop import profile, profile_function

CELL = 16  # pixels a side, before the picture is resized
BACKGROUND = (245, 245, 240)
GRID = (205, 205, 200)
WALL = (20, 20, 20)
TARGET = (230, 160, 0)
ROBOTS = ((200, 30, 30), (30, 80, 200), (30, 150, 60), (140, 60, 170))
WALL_WIDTH = 3
STAR_POINTS = 5


@profile_function("env_rgb_observation_generation", category="Rendering", track_memory=True)
def observe(board: Board, robots: Sequence[Cell], pixels: int) -> np.ndarray:
    """The board as an RGB array of `pixels` by `pixels`."""
    picture = render(board, robots)
    with profile("env_rgb_resizing", category="Rendering"):
        picture = picture.resize((pixels, pixels), Image.Resampling.BOX)
    return np.asarray(picture)


@profile_function("env_rgb_rendering", category="Rendering")
def render(board: Board, robots: Sequence[Cell]) -> Image.Image:
    """The board as a picture with `CELL` pixels for each side of a cell."""
    picture = Image.new("RGB", (board.size * CELL, board.size * CELL), BACKGROUND)
    draw = ImageDraw.Draw(picture)
    _draw_grid(draw, board)
    _draw_walls(draw, board)
    _draw_target(draw, board.target)
    _draw_robots(draw, robots)
    return picture


@profile_function("env_rgb_draw_grid", category="Rendering")
def _draw_grid(draw: ImageDraw.ImageDraw, board: Board) -> None:
    end = board.size * CELL
    for line in range(board.size + 1):
        at = min(line * CELL, end - 1)
        draw.line((at, 0, at, end), fill=GRID)
        draw.line((0, at, end, at), fill=GRID)


@profile_function("env_rgb_draw_walls", category="Rendering")
def _draw_walls(draw: ImageDraw.ImageDraw, board: Board) -> None:
    for (row, column), direction in board.walls:
        top, left = row * CELL, column * CELL
        bottom, right = top + CELL, left + CELL
        side = {
            UP: (left, top, right, top),
            RIGHT: (right, top, right, bottom),
            DOWN: (left, bottom, right, bottom),
            LEFT: (left, top, left, bottom),
        }[direction]
        draw.line(side, fill=WALL, width=WALL_WIDTH)
    draw.rectangle((0, 0, board.size * CELL - 1, board.size * CELL - 1), outline=WALL)


@profile_function("env_rgb_draw_target", category="Rendering")
def _draw_target(draw: ImageDraw.ImageDraw, target: Cell) -> None:
    middle_y, middle_x = (target[0] + 0.5) * CELL, (target[1] + 0.5) * CELL
    corners = []
    for corner in range(2 * STAR_POINTS):
        radius = CELL * (0.48 if corner % 2 == 0 else 0.2)
        angle = math.pi * corner / STAR_POINTS
        corners.append((middle_x + radius * math.sin(angle), middle_y - radius * math.cos(angle)))
    draw.polygon(corners, fill=TARGET)


@profile_function("env_rgb_draw_robots", category="Rendering")
def _draw_robots(draw: ImageDraw.ImageDraw, robots: Sequence[Cell]) -> None:
    margin = CELL // 8
    for (row, column), colour in zip(robots, ROBOTS, strict=False):
        left, top = column * CELL + margin, row * CELL + margin
        draw.ellipse((left, top, left + CELL - 2 * margin, top + CELL - 2 * margin), fill=colour)
