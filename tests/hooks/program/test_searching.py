"""Searches, simulations and games of a whole program."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

Profile = Callable[..., Any]
PROGRAM = Path(__file__).parents[1] / "own_programs" / "nim_tree.py"


def test_everything_is_counted_once(profile: Profile) -> None:
    run = profile(PROGRAM)
    games, moves, simulations = map(int, run.out.split())
    assert run.counter("games") == games
    assert run.counter("searches") == run.calls("search") == moves
    assert run.counter("simulations") == simulations
    assert run.report["shapes"]["search"] == ["__main__:pick"]


#: A search in a program with a proxy, which may be read by nobody, a class that has no hash, and one
#: that no module has defined.
ODD = """
class Proxy:
    def __getattribute__(self, name):
        print("read", name)
        raise RuntimeError("there is no current one")

proxy = Proxy()
space = {}
exec("Bare = type('Bare', (), {})", space)
Bare = space["Bare"]

class Comparing(type):
    def __eq__(cls, other):
        return NotImplemented

class Match(metaclass=Comparing):
    def play(self):
        for stones in range(5):
            pick(stones)

class Node:
    def __init__(self):
        self.children, self.visits = {}, 0

def simulate(node):
    node.visits += 1
    node.children[node.visits] = Node()

def pick(stones):
    root = Node()
    for _ in range(3):
        simulate(root)
    return max(root.children)

for _ in range(2):
    Match().play()
print("played")
"""


def test_only_functions_and_classes_are_read(profile: Profile) -> None:
    run = profile(ODD)
    assert run.out == "played\n"
    assert run.counter("searches") == 10
    assert run.counter("games") == 2
    assert "failures" not in (run.capture / "main.jsonl").read_text()


#: Searches of two threads, whose simulations begin before those of the other end.
THREADS = """
import threading

class Node:
    def __init__(self):
        self.children, self.visits = {}, 0

def simulate(node):
    both.wait(60)
    node.visits += 1
    node.children[node.visits] = Node()
    both.wait(60)

def pick(rounds):
    root = Node()
    for _ in range(rounds):
        simulate(root)
    return max(root.children)

both = threading.Barrier(2)
threads = [threading.Thread(target=pick, args=(5,)) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


def test_simulations_of_each_thread_are_counted(profile: Profile) -> None:
    run = profile(THREADS)
    assert run.code == 0
    assert run.counter("simulations") == 10
