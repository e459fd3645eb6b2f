"""What the names in a program's code show."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.hooks.program import vocabulary as v

env: Any = None
environments: Any = None
optimizer: Any = None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("computeGAE_returns", ["compute", "gae", "returns"]),
        ("ReplayBuffer", ["replay", "buffer"]),
        ("__init__", ["init"]),
        ("q2", ["q", "2"]),
    ],
)
def test_a_name_is_split_into_its_words(name: str, words: list[str]) -> None:
    assert v.words_of(name) == words


def test_parameters_are_those_that_can_be_given_by_position() -> None:
    def push(self: Any, state: Any, *rest: Any, flush: bool = False, **more: Any) -> None: ...

    assert v.parameters_of(push, bound=True) == ["state", "rest"]
    assert v.parameters_of(push, bound=False) == ["self", "state", "rest"]


def test_names_include_short_texts_and_inner_functions() -> None:
    def outer() -> Any:
        def inner() -> Any:
            return {"priority": env.reset()}

        return inner

    assert {"priority", "env", "reset", "inner"} <= v.names_in(outer.__code__)
    assert "priority" not in v.used_names(outer.__code__)


def play_one() -> None:
    env.step(1)


def play_indexed() -> None:
    for index in range(2):
        environments[index].step(1)


def learn_once() -> None:
    optimizer.zero_grad()
    optimizer.step()


def leads_to_play() -> None:
    play_one()


def test_only_a_step_of_an_environment_is_one() -> None:
    assert v.steps_an_environment([play_one])
    assert v.steps_an_environment([play_indexed])
    assert not v.steps_an_environment([learn_once])


def test_functions_that_a_function_calls_are_followed() -> None:
    assert v.reached(leads_to_play, None) == [leads_to_play, play_one]


class Base:
    def act(self) -> None:
        learn_once()


class Derived(Base):
    def act(self) -> None:
        super().act()


def test_super_leads_to_the_overridden_method() -> None:
    assert v.reached(Derived.act, Derived) == [Derived.act, Base.act, learn_once]


def test_code_with_gradients_is_known_by_its_calls() -> None:
    assert v.gradient_names([learn_once, play_one]) == {"zero_grad"}
