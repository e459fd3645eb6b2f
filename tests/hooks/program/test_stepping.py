"""Environments that no name says to be ones, and what only resembles them."""

from __future__ import annotations

from typing import Any

import pytest
from profiling import Profile

from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.training import read_capture
from hotloop.hooks.program import recognition


class Lager:
    """Steps and resets in other words."""

    def __init__(self) -> None:
        self.anfang()

    def anfang(self) -> int:
        self.ort, self.zeit = 0, 0
        return self.ort

    def zug(self, a: int) -> tuple[int, float, bool]:
        self._gehe(a)
        return self.ort, 1.0, self.zeit > 9

    def _gehe(self, a: int) -> None:
        self.ort += a
        self.zeit += 1

    def bild(self) -> str:
        self.letztes = "." * self.ort
        return self.letztes


class Sammler:
    """Plays in an environment: its result has the same parts, and is a rollout."""

    def __init__(self) -> None:
        self.lager = Lager()

    def spiele(self, n: int) -> tuple[list[int], list[float], list[bool]]:
        self.orte: list[int] = []
        for _ in range(n):
            self.orte.append(self.lager.zug(1)[0])
        return self.orte, [], []


class Speicher:
    """Draws transitions, and counts how often."""

    def merke(self, s: int, a: int, r: float, n: int) -> None: ...

    def ziehe(self, n: int) -> tuple[list[int], list[int], list[float], list[bool]]:
        self.gezogen = n
        return [], [], [], []


class Lerner:
    """Its result says whether to stop early."""

    def lerne(self, verlust: Any) -> tuple[float, float, bool]:
        verlust.backward()
        self.schritte = 1
        return 0.5, 0.1, False


class Arena:
    """Plays whole games with two players that change places, and returns who won how many."""

    def __init__(self, one: object, two: object) -> None:
        self.one, self.two = one, two

    def play_game(self) -> int:
        return 1 if self.one is not self.two else 0

    def play_games(self, games: int) -> tuple[int, int, int]:
        first = [self.play_game() for _ in range(games // 2)]
        self.one, self.two = self.two, self.one
        second = [self.play_game() for _ in range(games // 2)]
        return sum(first), sum(second), games - sum(first) - sum(second)


class Wahl:
    """Chooses: nothing about it changes."""

    def waehle(self, s: int) -> tuple[int, float, bool]:
        return s, 0.5, True


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (Lager, {"zug": "env.step", "anfang": "env.reset"}),
        (Sammler, {}),
        (Speicher, {}),
        (Lerner, {}),
        (Wahl, {}),
    ],
)
def test_an_environment_is_known_by_what_its_step_does(cls: type, expected: dict[str, str]) -> None:
    found = recognition.in_class(cls, lambda owner: owner.__module__ == __name__)
    assert {each.name: each.phases[-1] for each in found} == expected


def test_what_plays_whole_games_is_no_step() -> None:
    found = recognition.in_class(Arena, lambda owner: owner.__module__ == __name__)
    assert {each.name: each.phases for each in found} == {"play_game": ()}


WORLD = """
class Lager:
    def anfang(self):
        self.ort, self.zeit = 0, 0
        return self.ort

    def zug(self, a):
        self.ort, self.zeit = self.ort + a, self.zeit + 1
        return {result}

class Netz:
    def __call__(self, ort):
        return 1

lager, netz = Lager(), Netz()
lager.anfang()
for _ in range(100):
    _, _, fertig = lager.zug(netz(0))
    if fertig is True:
        lager.anfang()
"""


@pytest.mark.parametrize(
    ("result", "steps", "episodes"),
    [("self.ort, 1.0, self.zeit > 9", 100, 10), ("self.ort, 1.0, 2.0", None, None)],
)
def test_what_its_first_step_returns_decides(
    profile: Profile, result: str, steps: int | None, episodes: int | None
) -> None:
    run: Any = profile(WORLD.replace("{result}", result))
    assert run.counter("env_steps") == (steps or 0)
    assert run.counter("episodes") == (episodes or 0)


BEGINS_ANEW = """
class Lager:
    def __init__(self): self.reset()

    def reset(self):
        self.ort = 0
        return self.ort

    def step(self, action):
        self.ort += action
        ended = self.ort >= 10
        return (self.reset() if ended else self.ort), 1.0, ended

lager = Lager()
for _ in range(100): lager.step(1)
"""


def test_an_environment_that_resets_itself_in_its_step_has_whole_episodes(profile: Profile) -> None:
    run = profile(BEGINS_ANEW)
    assert run.capture is not None
    ended = analyze(read_capture(run.capture)).returns.training
    assert (ended.episodes, ended.mean_length, ended.mean) == (10, 10.0, 10.0)
