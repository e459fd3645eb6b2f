"""Which methods of a class the rules of recognition see, and which words it says of itself."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

from hotloop.hooks.program.methods import all_names, imagines, methods_of, words_of_class


class Base:
    def act(self, state: Any) -> int:
        return 1

    def learn(self) -> None: ...


class MazeAgent(Base):
    limit = 3

    def __init__(self) -> None:
        self.epsilon = 0.1

    def learn(self, batch: Any) -> None:  # type: ignore[override]
        self.losses = batch

    @staticmethod
    def score(values: Any) -> Any:
        return values

    @abstractmethod
    def plan(self) -> None: ...

    def _imagine(self) -> None: ...

    def _helper(self) -> None: ...


def test_the_nearest_definition_counts_and_private_helpers_do_not() -> None:
    found = methods_of(MazeAgent, lambda cls: cls.__module__ == __name__)
    assert set(found) == {"act", "learn", "score", "_imagine"}
    assert found["learn"].owner is MazeAgent
    assert found["learn"].parameters == ["batch"]
    assert found["act"].owner is Base
    assert found["score"].takes_something


def test_classes_of_others_are_left_out() -> None:
    assert set(methods_of(MazeAgent, lambda cls: cls is Base)) == {"act", "learn"}


def test_names_of_the_code_include_those_of_init() -> None:
    methods = methods_of(MazeAgent, lambda cls: cls is MazeAgent)
    assert {"epsilon", "losses"} <= all_names(methods, MazeAgent)


def test_an_environment_may_say_so_at_the_end_of_one_word() -> None:
    assert "env" in words_of_class(type("Mazeenv", (), {}))
    assert "agent" in words_of_class(MazeAgent)


def test_imagination_is_said_by_name() -> None:
    assert imagines(["imagine"])
    assert not imagines(["act"])
