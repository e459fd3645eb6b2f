"""Rows and gradient steps: the native notes and the Python ones count the same."""

from __future__ import annotations

import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hotloop import Profiler
from hotloop.hooks.batch import MOST_NETWORKS, SHOWN_LOSSES, SHOWN_SAMPLES, Batch
from hotloop.hooks.order import order_of
from hotloop.measure.core import native_parts


class Learner:
    """One kind of batch on a core of its own, with what it has shown."""

    def __init__(self, native: bool) -> None:
        self.profiler = Profiler()
        self.profiler.enable()
        self.core = core = self.profiler.core
        self.inferred: list[str] = []
        self.order = order_of(core)(
            core,
            core.region("learn"),
            core.region("learn.loss"),
            (core.region("collect"), core.region("learn")),
            lambda kind, where: [core.region("advantage")] * 8,
            self.inferred.append,
            lambda purpose: None,
        )
        self.order.thread = threading.get_ident()
        self.losses: list[Any] = []
        self.buffers: list[Any] = []
        shown = (self.losses.append, self.buffers.append)
        parts = native_parts(core)
        self.batch: Any = (
            parts.Learning(self.order, *shown) if native else Batch(self.order, *shown, core.count)
        )

    def counted(self) -> dict[str, float]:
        return dict(self.core.snapshot()[2])


@pytest.fixture(params=["python", "native"])
def learner(request: pytest.FixtureRequest) -> Learner:
    native = request.param == "native"
    if native and native_parts(Profiler().core) is None:
        pytest.skip("nothing was compiled here")
    return Learner(native)


def test_a_batch_is_seen_once_between_two_backward_passes(learner: Learner) -> None:
    batch = learner.batch
    batch.forward(1, 32)
    batch.forward(1, 32)
    batch.forward(2, 32)
    batch.after_backward(None, "loss")
    batch.after_step(None, "optimizer")
    assert learner.counted() == {"gradient_steps": 1, "samples": 32}


def test_passes_without_a_step_add_up(learner: Learner) -> None:
    batch = learner.batch
    for _ in range(4):
        batch.forward(1, 16)
        batch.after_backward(None, "loss")
    batch.after_step(None, "optimizer")
    assert learner.counted() == {"gradient_steps": 1, "samples": 64}


def test_optimizers_that_step_in_turn_are_one_gradient_step(learner: Learner) -> None:
    actor, critic = object(), object()
    for _ in range(3):
        for optimizer in (actor, critic):
            learner.batch.told = 8
            learner.batch.after_step(None, optimizer)
    assert learner.counted() == {"gradient_steps": 3, "samples": 24}


def test_an_optimizer_is_the_same_by_object_and_by_number(learner: Learner) -> None:
    optimizer = object()
    learner.batch.after_step(None, optimizer)
    learner.batch.optimizer(id(optimizer))
    assert learner.counted() == {"gradient_steps": 2}


def test_without_rows_those_that_were_collected_count(learner: Learner) -> None:
    for _ in range(5):
        learner.order.stepped(4)
    learner.batch.after_step(None, "optimizer")
    assert learner.counted()["samples"] == 20


def test_what_a_table_tells_holds_for_one_step(learner: Learner) -> None:
    batch = learner.batch
    batch.after_sample(None, "buffer", 64)
    assert batch.told == 64
    batch.after_step(None, "optimizer")
    assert batch.told == 0
    batch.after_minibatch(None, "rollout", batch_inds=[1, 2, 3])
    assert batch.told == 3
    batch.after_sample("result", "buffer", batch_size=7)
    assert batch.told == 7


def test_some_losses_and_buffers_are_shown(learner: Learner) -> None:
    for number in range(SHOWN_LOSSES + 1):
        learner.batch.after_backward(None, number)
    for number in range(SHOWN_SAMPLES + 1):
        learner.batch.after_sample(None, number, 1)
    assert learner.losses == [0, SHOWN_LOSSES]
    assert learner.buffers == [0, SHOWN_SAMPLES]


def test_rollouts_are_counted(learner: Learner) -> None:
    learner.batch.after_rollout("result", "algorithm", n_steps=5)
    assert learner.counted() == {"iterations": 1}


def test_nothing_is_counted_while_switched_off(learner: Learner) -> None:
    learner.profiler.disable()
    learner.batch.after_rollout()
    learner.batch.after_step(None, "optimizer")
    learner.profiler.enable()
    assert learner.counted() == {}


def test_a_limit_on_a_counter_is_seen(learner: Learner) -> None:
    reached: list[str] = []
    learner.core.watch("gradient_steps", 3, lambda: reached.append("three"))
    for _ in range(2):
        learner.batch.after_step(None, "optimizer")
    assert not reached
    learner.batch.after_step(None, "optimizer")
    assert reached == ["three"]
    assert learner.counted() == {"gradient_steps": 3}


def test_forgets(learner: Learner) -> None:
    batch = learner.batch
    batch.forward(1, 9)
    batch.told = 5
    batch.after_backward(None, "first")
    batch.forget()
    batch.after_backward(None, "second")
    batch.after_step(None, "optimizer")
    assert learner.losses == ["first", "second"]
    assert learner.counted() == {"gradient_steps": 1}


def test_each_of_several_has_its_turn(learner: Learner) -> None:
    for number in range(4 * SHOWN_SAMPLES):
        learner.batch.after_sample(None, "ab"[number % 2], 1)
        learner.batch.after_backward(None, ("actor", "critic")[number % 2])
    assert set(learner.buffers) == {"a", "b"}
    assert set(learner.losses) == {"actor", "critic"}


def test_more_than_can_be_told_apart(learner: Learner) -> None:
    batch = learner.batch
    for network in range(MOST_NETWORKS + 6):
        batch.forward(network, 100 + network)
    batch.backward()
    for number in range(MOST_NETWORKS + 6):
        batch.optimizer(number)
    # The rows of the last network that was told apart; the round begins anew when it is full.
    assert learner.counted() == {"gradient_steps": 2, "samples": 100 + MOST_NETWORKS - 1}


def test_counts_of_python_and_of_native_code_are_one(learner: Learner) -> None:
    learner.batch.after_rollout()
    learner.core.count("iterations", 2)
    assert learner.counted() == {"iterations": 3}
    learner.batch.after_rollout()
    learner.core.after_fork()
    learner.batch.after_rollout()
    assert learner.counted() == {"iterations": 1}


@pytest.mark.parametrize(
    "wrong", [("after_sample", (None, "buffer")), ("after_minibatch", (None, "rollout", 3))]
)
def test_what_makes_no_sense_is_an_error(learner: Learner, wrong: tuple[str, Any]) -> None:
    name, arguments = wrong
    with pytest.raises(TypeError):
        getattr(learner.batch, name)(*arguments)


_EVENTS = st.one_of(
    st.tuples(st.just("forward"), st.integers(0, MOST_NETWORKS + 6), st.integers(0, 99)),
    st.tuples(st.just("after_backward"), st.none(), st.integers(0, 9)),
    st.tuples(st.just("optimizer"), st.integers(0, MOST_NETWORKS + 6)),
    st.tuples(st.just("backward")),
    st.tuples(st.just("after_sample"), st.none(), st.sampled_from("ab"), st.integers(0, 50)),
    st.tuples(st.just("after_minibatch"), st.none(), st.none(), st.just([1, 2])),
    st.tuples(st.just("after_rollout")),
    st.tuples(st.just("stepped"), st.integers(1, 8)),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(_EVENTS, max_size=200))
def test_both_count_the_same(events: list[tuple[Any, ...]]) -> None:
    if native_parts(Profiler().core) is None:
        pytest.skip("nothing was compiled here")
    both = [Learner(native) for native in (False, True)]
    for name, *arguments in events:
        for each in both:
            getattr(each.order if name == "stepped" else each.batch, name)(*arguments)
    python, native = both
    assert python.counted() == native.counted()
    assert python.losses == native.losses
    assert python.buffers == native.buffers
    assert python.inferred == native.inferred
    assert python.batch.told == native.batch.told
