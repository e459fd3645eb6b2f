"""Tree searches and games, by what their code does."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from hotloop.hooks.program.self_play import plays_a_game, searches_a_tree, simulates


@dataclass
class Node:
    """A node as a data class has it."""

    children: dict[int, Node] = field(default_factory=dict)
    visit_count: int = 0


class Family:
    """Something with children that nobody visits."""

    def __init__(self) -> None:
        self.children: dict[int, int] = {}


def best(state: Any, rounds: int) -> int:
    root = Node()
    for _ in range(rounds):
        expand(root)
    return max(root.children, key=lambda move: root.children[move].visit_count)


def expand(node: Node) -> None:
    for move in range(3):
        node.children[move] = Node()
        node.visit_count += 1


def count_children(rounds: int) -> int:
    family = Family()
    for each in range(rounds):
        family.children[each] = each
    return len(family.children)


def play(state: list[int]) -> None:
    while state:
        state.remove(best(state, 10))


def play_several(games: int) -> None:
    for _ in range(games):
        state = [1, 2]
        while state:
            state.remove(best(state, 10))


def hint(state: list[int]) -> int:
    return best(state, 10) if random.random() < 0.5 else 0


def test_a_search_makes_a_root_and_simulates_in_a_loop() -> None:
    found = [each for each in (best, expand, count_children, play) if searches_a_tree(each)]
    assert found == [best]


def test_a_game_asks_for_moves_in_one_loop() -> None:
    functions = (play, play_several, hint, expand)
    assert [each for each in functions if plays_a_game(each.__code__, {"best"})] == [play]


def test_a_simulation_is_known_by_its_name() -> None:
    assert simulates(["simulate"])
    assert simulates(["run", "simulation"])
    assert not simulates(["simulate", "market"])
