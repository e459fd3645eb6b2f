"""Lines on which state is made from itself, told by data flow."""

from __future__ import annotations

import pytest

from hotloop.capture.schema import SLICE
from hotloop.hooks.program.feedback import MOST_LINES, recurrences, running_sums


def found_in(text: str) -> set[str]:
    """The functions that are found; of one that moves its object, its first line."""
    lines = text.splitlines()
    found = recurrences(text)
    names = {name for called in found.values() for name in called if name}
    return names | {lines[int(at) - 1].strip() for at in found if "" in found[at]}


FLOW = """
class Stroemung:
    def step(self, a):
        kraft = self.projektion(a)
        v = self.v
        for _ in range(self.m):
            n0 = self.nichtlinear(v, kraft)
            v = self.e * v + self.f * n0
        self.v = v
        return self.sicht(v), -self.kosten(v)
"""


def test_the_substeps_of_an_integrator() -> None:
    assert found_in(FLOW) == {"nichtlinear", "def step(self, a):"}


@pytest.mark.parametrize(
    "body",
    [
        "self.zustand = self.fluss(self.zustand, a)",
        "self.lage, self.tempo = rk4(self.lage, self.tempo, dt=0.1)",
        "self.y = solve(lambda t: rhs(t, a), self.y)",
        "z = self.z\n        z = advance(\n            z, a,\n        )\n        self.z = z",
    ],
)
def test_state_that_is_kept_until_the_next_step(body: str) -> None:
    text = (
        f"class Welt:\n    def step(self, a):\n        {body}\n        return self.seen(a), 0.0\n"
    )
    assert found_in(text) - {"def step(self, a):"}
    assert "seen" not in found_in(text)


def test_what_only_looks_at_the_state_is_none() -> None:
    assert found_in(
        "class Maze:\n"
        "    def step(self, a):\n"
        "        before = min(self.distances())\n"
        "        self.score += self.value(self.cells)\n"
        "        self.best = max(self.best, self.value(self.cells))\n"
        "        for parcel in self.parcels:\n"
        "            near = self.walk(self.at, parcel)\n"
        "        obs = self.scaled(before)\n"
        "        obs = self.clipped(obs)\n"
        "        return self.table[self.row(obs)], near\n"
        "    def distances(self):\n"
        "        self.asked += 1\n"
        "        return [self.walk(self.at, p) for p in self.parcels]\n"
    ) == {"max"}


def test_functions_that_move_their_object() -> None:
    text = (
        "class Arm:\n"
        "    @timed\n"
        "    def ruecken(self, u):\n"
        "        self.v += 0.1 * (u - self.q)\n"
        "        self.q = self.q + 0.05 * self.v\n"
        "    def heat(self):\n"
        "        self.u += self.dt * (self.u[2:] - 2 * self.u[1:-1])\n"
        "    def log(self, r):\n"
        "        self.total += r\n"
    )
    assert found_in(text) == {"@timed", "def heat(self):"}


def test_any_text_is_survived() -> None:
    assert recurrences("") == {}
    assert recurrences("def f(:\n  x = ) y ( =\n 'a") == {}
    assert recurrences("x = f(x)\n" * 10_000) == {}
    many = "def f(self):\n" + "    self.a = g(self.a)\n" * 2_000
    assert len(recurrences(many)) == MOST_LINES


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("", [[4, 7]]),
        ("rest -= g => w = g / 2\n        rest -= w", [[4, 8]]),
        ("rest -= g => rest -= gewichte[i]", [[4, 7]]),
        ("rest -= g => rest -= 1", []),
        ("break => return i", [[4, 7]]),
        ("if rest <= 0: => if g <= 0:", []),  # a search, not a sum
        ("break => continue", []),
        ("rest -= g => rest = g", []),
        # An episode, until it is solved.
        ("rest -= g => o, r = env.step(i)\n        rest -= r", []),
        ("rest -= g => rest -= env.reward(g)", []),
        ("rest -= g => r = env.last\n        rest -= r", []),
        ("rest -= g => rest -= g\n        for j in range(9):\n            a[j] = g", []),
    ],
)
def test_draws_by_weight(change: str, found: list[list[int]]) -> None:
    text = """
def ziehe(gewichte):
    rest = random() * sum(gewichte)
    for i, g in enumerate(gewichte):
        rest -= g
        if rest <= 0:
            break
    return i
"""
    before, _, after = change.partition(" => ")
    assert running_sums(text.replace(before, after) if change else text) == found


def test_draws_by_weight_that_count_for_themselves() -> None:
    text = """
def ziehe(self):
    i = summe = 0
    while True:
        summe += self.gewichte[i]
        if summe >= self.ziel:
            return self.daten.get(i)
        i += 1
"""
    assert running_sums(text) == [[4, 7]]
    assert running_sums(text.replace("+= self.gewichte[i]", "+= 1")) == []


@pytest.mark.parametrize(
    ("right", "sliced"),
    [
        ("np.append(self.w, x)", False),
        ("np.append(self.w, [x], axis=0)", False),
        ("np.append(self.w, x[:3])", False),
        ("np.append(self.w, self.rows[i])", False),
        ("np.append(self.w, {1: x}, axis=0)", False),
        ("np.append(self.w[1:], x)", True),
        ("np.append(x, self.w[:, :, :, :3], axis=3)", True),
        ("np.append(self.w, x)[-n:]", True),
    ],
)
def test_a_window_is_told_from_what_grows(right: str, sliced: bool) -> None:
    found = recurrences(f"def put(self, x, i, n):\n    self.w = {right}\n")
    assert found == {"2": ["append", *[SLICE] * sliced]}
