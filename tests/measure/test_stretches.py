"""Stretches: hooks rest in between, what must be exact stays exact, and every change ends the rest."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest

from hotloop.capture import schema
from hotloop.capture.window import PhaseDelta, Window
from hotloop.measure.stretches import FULL_S, Stretches
from hotloop.phases import REST, flags_of

native = pytest.importorskip("hotloop.measure._native")

S = 1_000_000_000


class Loop:
    """A head with two hooked functions in it, in made-up time."""

    def __init__(self) -> None:
        self.now = 1
        self.core: Any = native.Core(clock=lambda: self.now, describe=flags_of)
        self.core.enable()
        self.noted = 0

        def leaf() -> None:
            self.now += 10

        def step() -> None:
            self.now += 100

        def head() -> None:
            self.leaf()
            self.step()

        self.leaf, self.step, self.head = leaf, step, head
        self.attach(leaf, "policy.act")
        self.attach(step, "env.step", after=self.note, outermost=True)
        self.attach(head, "collect")

    def attach(self, function: Callable[..., object], name: str, **options: Any) -> None:
        self.core.attach(
            function, lambda original: self.core.region(name).wrap(original, **options)
        )

    def note(self, *_: object) -> None:
        self.noted += 1

    def rest(self, counters: frozenset[str] = frozenset()) -> None:
        """Let hooks rest for a long time."""
        names = ["collect", "policy.act", "env.step"]
        self.core.stretches("collect", 0, 1, 1000, names, counters)
        self.head()
        assert self.core.resting

    def times(self) -> dict[str, tuple[int, int]]:
        """Path -> calls and self time since it was last asked."""
        paths: dict[int, str] = {}
        for node, parent, name, _ in self.core.nodes():
            paths[node] = f"{paths.get(parent, '')}/{name or ''}".strip("/")
        return {paths[row[0]]: (row[1], row[2]) for row in self.core.snapshot()[1] if row[1]}


def test_a_call_that_counts_at_rest_is_open() -> None:
    loop, seen = Loop(), []
    loop.attach(watched := lambda: seen.append(loop.core.is_open("env.step")), "inside")
    step = loop.core.region("env.step").wrap(watched, after=loop.note, outermost=True)
    loop.rest()
    step()
    watched()
    assert seen == [True, False]


def test_hooks_rest_and_measure_again() -> None:
    loop = Loop()
    loop.core.stretches("collect", 0, 2, 2, ["collect", "policy.act", "env.step"], frozenset())
    for _ in range(100):
        loop.head()
    loop.core.stretches(None, 0, 0, 0, [], frozenset())
    found = loop.times()
    measured = found["collect"][0]
    assert 30 < measured < 70
    assert found["collect/policy.act"] == (measured, 10 * measured)
    assert found["collect/env.step"] == (measured, 100 * measured)
    assert found[REST][1] == 110 * (100 - measured)
    assert loop.core.unmatched == 0


def test_notes_are_exact() -> None:
    loop = Loop()
    loop.core.stretches("collect", 0, 2, 2, ["collect", "policy.act", "env.step"], frozenset())
    for _ in range(100):
        loop.head()
    assert loop.noted == 100


def test_functions_inside_the_same_phase_are_noted_once() -> None:
    loop = Loop()

    def wrapper() -> None:
        loop.step()

    loop.attach(wrapper, "env.step", after=loop.note, outermost=True)
    loop.rest()
    before = loop.noted
    wrapper()
    assert loop.noted == before + 1


def test_a_step_is_noted_once_when_the_rest_ends_inside_it() -> None:
    loop = Loop()

    def vector() -> None:
        loop.step()
        loop.core.stretches(None, 0, 0, 0, [], frozenset())  # as the recorder does, at any time
        loop.step()

    loop.attach(vector, "env.step", after=loop.note, outermost=True)
    loop.rest()
    before = loop.noted
    vector()
    assert loop.noted == before + 1
    loop.step()
    assert loop.noted == before + 2


def test_counters_that_rest_are_not_counted() -> None:
    loop = Loop()
    loop.rest(frozenset({"transfers"}))
    loop.core.count("transfers", 5)
    loop.core.count("env_steps", 7)
    assert loop.core.snapshot()[2] == {"env_steps": 7}


def test_a_rest_ends_with_the_region_around_the_head() -> None:
    loop = Loop()
    names = ["collect", "policy.act", "env.step"]
    with loop.core.region("epoch"):
        loop.core.stretches("collect", 1, 1, 1000, names, frozenset())
        loop.head()
        loop.head()
        assert loop.core.resting
    assert not loop.core.resting
    loop.times()
    with loop.core.region("epoch"):
        loop.head()
    found = loop.times()
    assert found["epoch"][0] == found["epoch/collect"][0] == 1
    assert loop.core.unmatched == 0


def test_the_next_session_decides_which_regions_rest() -> None:
    loop = Loop()
    loop.rest()
    loop.core.stretches(None, 0, 0, 0, [], frozenset())
    loop.core.stretches("collect", 0, 1, 1000, ["collect"], frozenset())
    loop.head()
    loop.times()
    loop.head()
    assert loop.core.resting
    assert any(path.endswith("policy.act") for path in loop.times())


def test_regions_that_do_not_rest_are_measured() -> None:
    loop = Loop()
    loop.rest()
    with loop.core.region("evaluate"):
        loop.now += 5
        loop.leaf()
    found = loop.times()
    assert found[f"{REST}/evaluate"] == (1, 15)
    assert not any(path.endswith("policy.act") for path in found)


def test_a_hook_that_does_more_than_measure_stays_on() -> None:
    loop = Loop()
    calls: list[object] = []

    def counted(original: Callable[[], object]) -> Callable[[], object]:
        def call() -> object:
            calls.append(1)
            return original()

        return call

    loop.rest()
    loop.leaf()
    loop.core.attach(loop.leaf, counted)
    loop.leaf()
    assert len(calls) == 1
    detach = loop.core.attach(loop.step, counted)
    loop.step()
    detach()
    loop.step()
    assert len(calls) == 2
    loop.core.stretches(None, 0, 0, 0, [], frozenset())
    loop.leaf()
    assert loop.times()["policy.act"] == (1, 10)


@pytest.mark.parametrize("end", ["disable", "after_fork"])
def test_rest_ends_with_the_measuring_and_with_a_fork(end: str) -> None:
    loop = Loop()
    loop.rest()
    getattr(loop.core, end)()
    assert not loop.core.resting
    loop.core.enable()
    loop.times()
    for _ in range(3):
        loop.head()
    assert loop.times()["collect/env.step"] == (3, 300)
    assert loop.core.unmatched == 0


def test_an_exception_leaves_nothing_open() -> None:
    loop = Loop()

    def fails() -> None:
        raise ValueError("the program's own")

    loop.attach(fails, "env.step", after=loop.note, outermost=True)
    loop.rest()
    with pytest.raises(ValueError, match="own"):
        fails()
    before = loop.noted
    loop.step()
    assert loop.noted == before + 1, "not inside a call that has ended"


def test_the_head_of_another_thread_does_not_switch() -> None:
    loop = Loop()
    loop.rest()
    entries = loop.core.head_entries
    thread = threading.Thread(target=loop.head)
    thread.start()
    thread.join()
    assert loop.core.head_entries == entries


def test_the_region_around_a_rest_may_end() -> None:
    loop = Loop()
    with loop.core.region("mine"):
        loop.core.stretches("collect", 1, 1, 1000, ["collect"], frozenset())
        loop.head()
        assert loop.core.resting
    loop.head()
    loop.core.stretches(None, 0, 0, 0, [], frozenset())
    loop.times()
    loop.head()
    assert loop.times()["collect/env.step"] == (1, 100)
    assert loop.core.unmatched == 0


# -- the plan --


class PlannedCore:
    """Keeps what it is asked to do; the head is entered as often as its phase is called."""

    def __init__(self) -> None:
        self.head_entries = 0
        self.plans: list[tuple[str | None, int, int]] = []

    def stretches(
        self,
        head: str | None,
        depth: int,
        measured: int,
        rest: int,
        rested: list[str],
        counters: frozenset[str],
    ) -> None:
        del depth, counters
        self.rested = rested
        self.plans.append((head, measured, rest))


class Plan:
    def __init__(self) -> None:
        self.core = PlannedCore()
        self.gauges: dict[str, float] = {}
        self.stretches = Stretches(self.core, self.gauges, set())
        self._number = 0

    @property
    def head(self) -> str | None:
        return self.core.plans[-1][0]

    def run(self, seconds: float, entries: int = 10, **changes: Any) -> None:
        """Windows of a loop that enters `collect` ten times a second."""
        for _ in range(int(seconds)):
            phases = {"collect": entries, "collect/env.step": 200, "learn": 10, "log": 1}
            phases |= changes.get("phases", {})
            counters = {"env_steps": 200.0, "iterations": 10.0, "gradient_steps": 10.0}
            begin, self._number = self._number * S, self._number + 1
            self.core.head_entries += entries
            self.stretches.take(
                Window(
                    self._number,
                    self._number,
                    begin,
                    begin + S,
                    {path: PhaseDelta(calls=calls) for path, calls in phases.items()},
                    counters | changes.get("counters", {}),
                    loop_last_ns=begin + S if changes.get("loop", True) else 0,
                )
            )


def test_everything_is_measured_for_half_a_minute() -> None:
    plan = Plan()
    plan.run(100, loop=False)
    plan.run(FULL_S - 1)
    assert (plan.head, plan.gauges[schema.STRETCHES]) == (None, 0)
    plan.run(1)
    assert (plan.head, plan.gauges[schema.STRETCHES]) == ("collect", 1)
    assert plan.core.rested == ["collect", "env.step", "learn"]


def test_less_is_measured_as_the_run_grows() -> None:
    plan = Plan()
    shares = []
    for _ in range(6):
        plan.run(300)
        _, measured, rest = plan.core.plans[-1]
        shares.append(measured / (measured + rest))
    assert shares == sorted(shares, reverse=True)
    assert shares[0] < 0.15
    assert shares[-1] == pytest.approx(0.03, abs=0.005)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"phases": {"learn.loss": 5}}, id="a new phase"),
        pytest.param({"counters": {"env_steps": 50.0}}, id="slower steps"),
        pytest.param({"entries": 0}, id="no iteration"),
    ],
)
def test_a_change_is_measured_in_full(change: dict[str, Any]) -> None:
    plan = Plan()
    plan.run(100)
    assert plan.head == "collect"
    plan.run(60, **change)
    since = [head for head, _, _ in plan.core.plans[70:]]
    assert None in since


def test_learning_that_begins_is_a_change() -> None:
    plan = Plan()
    plan.run(60, counters={"gradient_steps": 0.0})
    plan.run(1)
    assert plan.head is None
    plan.run(FULL_S)
    assert plan.head == "collect"


@pytest.mark.parametrize(
    "phases",
    [
        pytest.param({"@thread-1/env.step": 5}, id="a loop in another thread"),
        pytest.param({"evaluate/collect": 5, "evaluate/learn": 5}, id="a head at two places"),
    ],
)
def test_other_loops_stay_measured_in_full(phases: dict[str, int]) -> None:
    plan = Plan()
    plan.run(100, phases=phases)
    assert plan.head is None


def test_a_head_that_nobody_notices_is_not_tried_again() -> None:
    plan = Plan()
    plan.run(FULL_S)
    for _ in range(200):
        plan.core.head_entries -= 10
        plan.run(1)
    heads = [head for head, _, _ in plan.core.plans]
    first = heads.index("collect")
    assert "learn" in heads[first:]
    assert "collect" not in heads[heads.index("learn") :]
