"""A class of the program as the rules of recognition see it: its methods and its words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import FunctionType

from hotloop.hooks.program import vocabulary as v
from hotloop.hooks.program.self_play import simulates
from hotloop.hooks.redirect import function_behind, is_really, plain_function, written


@dataclass
class Method:
    """A method as a rule sees it."""

    owner: type
    name: str
    function: FunctionType
    words: list[str]
    parameters: list[str]

    @property
    def takes_something(self) -> bool:
        return bool(self.parameters)


def methods_of(cls: type, is_own: Callable[[type], bool]) -> dict[str, Method]:
    methods: dict[str, Method] = {}
    for owner in cls.__mro__:
        if not is_own(owner):
            continue
        for name, raw in vars(owner).items():
            function = written(function_behind(raw))
            words = v.words_of(name)
            if function is None or name in methods or not words:
                continue
            if name.startswith("_") and not (imagines(words) or simulates(words)):
                continue
            if getattr(function, "__isabstractmethod__", False):
                continue
            bound = not is_really(raw, staticmethod)
            parameters = v.parameters_of(function, bound)
            methods[name] = Method(owner, name, function, words, parameters)
    return methods


def words_of_class(cls: type) -> set[str]:
    words = set(v.words_of(cls.__name__))
    # MazeEnv and CartPoleEnv say it in words; Gridworld and Mazeenv do not.
    return words | {word for word in v.ENV if cls.__name__.lower().endswith(word) and len(word) > 2}


def all_names(methods: dict[str, Method], cls: type) -> set[str]:
    names: set[str] = set()
    init = plain_function(cls.__dict__.get("__init__"))
    for function in [init, *(method.function for method in methods.values())]:
        if function is not None:
            names |= v.names_in(written(function).__code__)
    return names


def imagines(words: list[str]) -> bool:
    return words[0] in v.IMAGINE and set(words[1:]) <= v.IMAGINED
