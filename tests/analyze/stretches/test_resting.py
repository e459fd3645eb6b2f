"""Loops that are measured in stretches come to the same shares as when every call is measured."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from hotloop.analyze.correction import add_up
from hotloop.analyze.stretches.resting import whole
from hotloop.capture import schema
from hotloop.capture.growing import Shard
from hotloop.capture.schema import Notes
from hotloop.capture.window import PhaseDelta
from hotloop.measure.profiler import Profiler
from hotloop.measure.stretches import Stretches
from hotloop.phases import REST

MS = 1_000_000
WINDOW_NS = 1000 * MS

pytest.importorskip("hotloop.measure._native")


class World:
    """A training in made-up time: what it really did, and what was recorded of it."""

    def __init__(self, stretches: bool = True) -> None:
        self.now = 1
        self.profiler = Profiler(clock=lambda: self.now)
        self.core: Any = self.profiler.core
        self.profiler.enable()
        self.stretches: Stretches | None = None
        if stretches:
            rested = self.profiler.rested
            self.stretches = Stretches(self.core, self.profiler.gauges, rested)
        self.shard = Shard("main")
        self.truth: dict[str, int] = {}
        self.chance = random.Random(1)
        self._due = WINDOW_NS

    def spend(self, name: str, ms: float) -> None:
        """Time passes, a little more or less than that; windows close as they would."""
        ns = int(ms * MS * self.chance.uniform(0.7, 1.3))
        self.truth[name] = self.truth.get(name, 0) + ns
        self.now += ns
        while self.now >= self._due:
            self._due += WINDOW_NS
            self.close()

    def close(self) -> None:
        window = self.profiler.close_window()
        self.shard.windows.append(window)
        if self.stretches is not None:
            self.stretches.take(window)

    def hook(self, name: str, function: Callable[[], object], **options: Any) -> Any:
        return self.core.region(name).wrap(function, **options)

    def leaf(self, name: str, ms: float, **options: Any) -> Any:
        return self.hook(name, lambda: self.spend(name, ms), **options)

    def finish(self) -> dict[str, PhaseDelta]:
        self.close()
        self.shard.notes = Notes(self.profiler.notes())
        self.found = whole(self.shard)
        return add_up(self.found.windows)

    @property
    def measured_share(self) -> float:
        rest = sum(
            delta.self_ns
            for window in self.shard.windows
            for path, delta in window.phases.items()
            if REST in path
        )
        return 1 - rest / self.now

    def share_errors(self, totals: dict[str, PhaseDelta]) -> dict[str, float]:
        """Name -> points by which its share is off."""
        found: dict[str, int] = {}
        for path, delta in totals.items():
            name = path.rpartition("/")[2]
            found[name] = found.get(name, 0) + delta.self_ns
        return {name: 100 * (found.get(name, 0) - ns) / self.now for name, ns in self.truth.items()}


def ppo(world: World, minutes: float, evaluations: bool = False) -> None:
    """A library's loop: rollouts of 200 steps, then 40 gradient steps; some evaluations."""
    step, act = world.leaf("env.step", 3), world.leaf("policy.act", 1)
    forward = world.leaf("learn.forward", 4)
    # Counted between stretches too, as an optimizer's steps are.
    backward = world.leaf("learn.backward", 6, after=lambda *_: None)

    def roll_out() -> None:
        for _ in range(200):
            act()
            step()
            world.core.count(schema.ENV_STEPS, 1)
            world.core.count(schema.TRANSFERS, 2)
            world.spend("collect", 0.2)

    def train() -> None:
        for _ in range(40):
            forward()
            backward()
            world.core.count(schema.GRADIENT_STEPS, 1)

    def evaluate() -> None:
        for _ in range(50):
            act()
            world.spend("evaluate", 1)

    collect, learn = world.hook("collect", roll_out), world.hook("learn", train)
    evaluation = world.hook("evaluate", evaluate)
    rounds = 0
    while world.now < minutes * 60e9:
        collect()
        learn()
        world.core.count(schema.ITERATIONS, 1)
        rounds += 1
        if evaluations and rounds % 20 == 0:
            evaluation()
        world.spend("", 1)


def dqn(world: World, minutes: float) -> None:
    """A hand-written loop: no phase around the others, an update every fourth step."""
    step, act = world.leaf("env.step", 0.3), world.leaf("policy.act", 0.2)
    forward, optimizer = world.leaf("learn.forward", 0.5), world.leaf("learn.optimizer", 1)
    steps = 0
    while world.now < minutes * 60e9:
        act()
        step()
        world.core.count(schema.ENV_STEPS, 1)
        world.spend("", 0.05)
        steps += 1
        if steps % 4 == 0:
            forward()
            optimizer()
            world.core.count(schema.GRADIENT_STEPS, 1)
            world.core.count(schema.LEARN_EVENTS, 1)


@pytest.mark.parametrize("program", [ppo, dqn])
def test_shares_are_those_of_every_call(program: Callable[[World, float], None]) -> None:
    world = World()
    program(world, 4)
    totals = world.finish()
    assert world.measured_share < 0.5
    errors = world.share_errors(totals)
    assert max(map(abs, errors.values())) < 1, errors
    # No time is lost and none is made up, in any window.
    for recorded, found in zip(world.shard.windows, world.found.windows, strict=True):
        assert sum(d.self_ns for d in found.phases.values()) == sum(
            d.self_ns for d in recorded.phases.values()
        )
    assert not any(REST in path for path in totals)


def test_counters_are_exact_or_scaled() -> None:
    world, exact = World(), World(stretches=False)
    ppo(world, 4)
    ppo(exact, 4)
    world.finish()
    exact.finish()

    def total(of: World, name: str) -> float:
        return sum(window.counters.get(name, 0) for window in of.found.windows)

    for name in (schema.ENV_STEPS, schema.GRADIENT_STEPS):
        assert total(world, name) == total(exact, name)
    assert total(world, schema.TRANSFERS) == pytest.approx(total(exact, schema.TRANSFERS), rel=0.03)


def test_calls_and_totals_grow_with_the_time() -> None:
    world, exact = World(), World(stretches=False)
    ppo(world, 4)
    ppo(exact, 4)
    scaled, counted = world.finish(), exact.finish()
    for path in ("collect/env.step", "learn", "learn/learn.backward"):
        calls = scaled[path].calls + scaled[path].estimated_calls
        assert calls == pytest.approx(counted[path].calls, rel=0.03)
        assert scaled[path].elapsed_ns == pytest.approx(counted[path].elapsed_ns, rel=0.03)


def test_evaluations_are_complete() -> None:
    world, exact = World(), World(stretches=False)
    ppo(world, 4, evaluations=True)
    ppo(exact, 4, evaluations=True)
    scaled, counted = world.finish(), exact.finish()
    assert scaled["evaluate"].calls == counted["evaluate"].calls
    assert scaled["evaluate"].elapsed_ns == counted["evaluate"].elapsed_ns
    inside = "evaluate/policy.act"
    assert scaled[inside].elapsed_ns == pytest.approx(counted[inside].elapsed_ns, rel=0.2)


def test_the_sampling_error_covers_the_truth() -> None:
    world = World()
    dqn(world, 4)
    totals = world.finish()
    truth = world.truth["learn.optimizer"] / 1e9
    found = totals["learn.optimizer"].self_ns / 1e9
    error = world.found.errors_s["learn.optimizer"]
    assert 0 < error < 0.02 * truth
    assert abs(found - truth) < 4 * error


def test_a_shard_without_stretches_stays_as_it_is() -> None:
    world = World(stretches=False)
    ppo(world, 0.2)
    world.finish()
    assert world.found is world.shard


def test_what_follows_the_loop_is_not_the_loop() -> None:
    world = World()
    dqn(world, 2)
    ended = world.now
    for _ in range(200):
        world.spend("", 100)
    world.finish()
    assert max(window.loop_last_ns for window in world.found.windows) <= ended
    after = add_up(w for w in world.found.windows if w.begin_ns > ended)
    assert set(after) == {""}


def test_few_stretches_use_what_was_measured_before_them() -> None:
    world = World()
    ppo(world, 0.55)  # three seconds of stretches, of iterations that take longer than one
    totals = world.finish()
    assert world.measured_share < 1
    assert max(map(abs, world.share_errors(totals).values())) < 1
    assert world.found.rested_s > 0
