"""Self-play with a tree search that no name says to be one: Nim, without a network."""

import math
import random

played = {"games": 0, "moves": 0, "simulations": 0}


class Position:
    __slots__ = ("children", "visits", "worth")

    def __init__(self):
        self.children, self.visits, self.worth = {}, 0, 0.0


def simulate(top, left):
    played["simulations"] += 1
    path, here = [top], top
    while here.children:
        taken, here = max(
            here.children.items(),
            key=lambda each: (
                -each[1].worth / (each[1].visits or 1)
                + math.sqrt(path[-1].visits + 1) / (each[1].visits + 1)
            ),
        )
        left -= taken
        path.append(here)
    if left:
        here.children = {taken: Position() for taken in range(1, min(left, 3) + 1)}
    value = random.uniform(-1, 1) if left else -1.0
    for each in reversed(path):
        each.visits += 1
        each.worth += value
        value = -value


def pick(left, rounds):
    top = Position()
    for _ in range(rounds):
        simulate(top, left)
    return max(top.children, key=lambda taken: top.children[taken].visits)


def one_round():
    left = 21
    while left:
        left -= pick(left, 20)
        played["moves"] += 1
    played["games"] += 1


def several(count):
    for _ in range(count):
        one_round()


random.seed(0)
several(12)
print(played["games"], played["moves"], played["simulations"])
