"""Gradient steps and batch sizes."""

from __future__ import annotations

import sys
import threading
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.hooks.inference.events import EVENTS

_native = pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")
MOST_NETWORKS = _native.MOST_NETWORKS
SHOWN_LOSSES, SHOWN_SAMPLES = _native.SHOWN_LOSSES, _native.SHOWN_SAMPLES


class Learner:
    """Updates on a core of their own, with what they have shown."""

    def __init__(self) -> None:
        #: The time in ns, for as long as nobody passes any.
        self.now = 1
        self.profiler = Profiler(clock=lambda: self.now)
        self.profiler.enable()
        self.core = core = self.profiler.core
        self.order = _native.EventOrder(
            core,
            threading.get_ident(),
            lambda event, circumstances: [core.region("advantage")] * EVENTS,
            lambda before, after, circumstances: None,
        )
        self.losses: list[Any] = []
        self.buffers: list[Any] = []
        #: Optimizer -> the names of its counters.
        self.names: dict[Any, tuple[str, str]] = {}
        self.batch = _native.Updates(
            self.order, self.losses.append, self.buffers.append, self.names.get
        )

    def counted(self) -> dict[str, float]:
        return dict(self.core.snapshot()[2])


@pytest.fixture
def learner() -> Learner:
    return Learner()


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
            learner.batch.batch_size = 8
            learner.batch.after_step(None, optimizer)
    assert learner.counted() == {"gradient_steps": 3, "samples": 24}


class Optimizer:
    """As torch's: the same parameters are the same optimizer."""

    def __init__(self, *parameters: object) -> None:
        self.param_groups = [{"params": list(parameters)}]


def test_a_new_optimizer_for_the_same_parameters_is_the_same(learner: Learner) -> None:
    weights, bias = object(), object()
    made = [Optimizer(weights, bias) for _ in range(3)]
    for optimizer in made:
        learner.batch.after_step(None, optimizer)
    assert learner.counted() == {"gradient_steps": 3}


def test_no_profiler_is_shown_that_the_parameters_are_read(learner: Learner) -> None:
    class Wrapped:
        @property
        def param_groups(self) -> list[Any]:
            return [{"params": [learner]}]

    called: list[str] = []
    sys.setprofile(lambda frame, event, _: called.append(frame.f_code.co_name))
    try:
        learner.batch.after_step(None, Wrapped())
        learner.batch.after_step(None, Wrapped())
    finally:
        sys.setprofile(None)
    assert "param_groups" not in called
    assert learner.counted() == {"gradient_steps": 2}


def test_optimizers_that_share_an_encoder_are_two(learner: Learner) -> None:
    encoder, actor, critic = object(), object(), object()
    for _ in range(3):
        for head in (actor, critic):
            learner.batch.after_step(None, Optimizer(encoder, head))
    assert learner.counted() == {"gradient_steps": 3}


def test_optimizers_that_train_one_after_the_other_step_for_themselves(learner: Learner) -> None:
    policy, value = object(), object()
    for _ in range(2):
        for optimizer in [policy] * 5 + [value] * 4:
            learner.batch.batch_size = 8
            learner.batch.after_step(None, optimizer)
    assert learner.counted() == {"gradient_steps": 18, "samples": 144}


def test_an_optimizer_that_steps_at_every_second_update_is_part_of_it(learner: Learner) -> None:
    actor, critic = object(), object()
    for optimizer in [critic, critic, actor] * 4:
        learner.batch.after_step(None, optimizer)
    assert learner.counted() == {"gradient_steps": 8}


def test_algorithms_that_train_one_after_the_other(learner: Learner) -> None:
    cloned, critic, actor = object(), object(), object()
    for optimizer in [cloned] * 5 + [critic, actor] * 3:
        learner.batch.after_step(None, optimizer)
    assert learner.counted() == {"gradient_steps": 8}


def test_each_of_several_optimizers_has_what_was_learned_before_its_step(learner: Learner) -> None:
    model, actor = Optimizer(object()), Optimizer(object())
    learner.names |= {model: ("steps:model", "ns:model"), actor: ("steps:actor", "ns:actor")}
    region = learner.core.region("learn.backward")
    for optimizer, spent in ((model, 5), (actor, 5), (model, 3), (actor, 4), (model, 1)):
        region.enter()
        learner.now += spent
        region.exit()
        learner.now += 100
        learner.batch.after_step(None, optimizer)
    counted = learner.counted()
    assert (counted["steps:model"], counted["steps:actor"]) == (3, 2)
    # The first one's time counts since there is a second.
    assert (counted["ns:model"], counted["ns:actor"]) == (4, 9)


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
    assert batch.batch_size == 64
    batch.after_step(None, "optimizer")
    assert batch.batch_size == 0
    batch.after_minibatch(None, "rollout", batch_inds=[1, 2, 3])
    assert batch.batch_size == 3
    batch.after_sample("result", "buffer", batch_size=7)
    assert batch.batch_size == 7


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
    # The rows of the last network that is counted separately; when full, the round restarts.
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


def test_learning_that_a_snapshot_took_counts_for_the_optimizer_that_steps_next(
    learner: Learner,
) -> None:
    model, actor = Optimizer(object()), Optimizer(object())
    learner.names |= {model: ("steps:model", "ns:model"), actor: ("steps:actor", "ns:actor")}
    region = learner.core.region("learn.backward")
    counted = {"ns:model": 0.0, "ns:actor": 0.0}
    for optimizer, spent in ((model, 5), (actor, 5), (model, 3), (actor, 400), (model, 1)):
        with region:
            learner.now += spent
        for name, ns in learner.counted().items():
            counted[name] = counted.get(name, 0.0) + ns
        learner.batch.after_step(None, optimizer)
    counted["ns:model"] += learner.counted().get("ns:model", 0.0)
    assert (counted["ns:model"], counted["ns:actor"]) == (4, 405)


def test_rows_that_a_loss_repeats_are_rows_of_the_batch_that_was_drawn(learner: Learner) -> None:
    learner.order.drawn_rows += 64
    learner.batch.forward(1, 640)
    learner.batch.after_backward(None, "loss")
    learner.batch.after_step(None, "optimizer")
    assert learner.order.drawn_rows == 0
    learner.batch.forward(1, 32)  # a minibatch of what was drawn before
    learner.batch.after_backward(None, "loss")
    learner.batch.after_step(None, "optimizer")
    assert learner.counted() == {"gradient_steps": 2, "samples": 64 + 32}


def test_steps_before_any_batch_was_seen_have_batches_like_the_first(learner: Learner) -> None:
    core = learner.core

    def head() -> None: ...

    core.attach(head, lambda original: core.region("collect").wrap(original))
    core.stretches("collect", 0, 1, 1000, ["collect"], frozenset())
    head()
    assert core.resting
    for _ in range(3):
        learner.batch.after_step(None, "optimizer")
    core.stretches(None, 0, 0, 0, [], frozenset())
    learner.batch.forward(1, 64)
    learner.batch.after_backward(None, "loss")
    learner.batch.after_step(None, "optimizer")
    counted = learner.counted()
    assert (counted["gradient_steps"], counted["samples"]) == (4, 4 * 64)
