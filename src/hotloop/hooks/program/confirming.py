"""Removes a label that is based on a name if the code does something else.

A class `Writer` may write text with a network, and `prepare_data` may play games. Code that runs
networks, steps environments or learns is not logging, drawing or loading.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hotloop.hooks.protocols import Function, Region, Undo

#: Phases that a name alone gives to a function.
BY_NAME = frozenset({"log", "data", "env.render"})
#: What a function of these phases does not do.
_TRAINS = (
    "env.step", "policy.act", "inference", "generate", "search", "learn.forward",
    "learn.backward", "learn.optimizer", "learn.step",
)  # fmt: skip


def entered(regions: Sequence[Region]) -> int:
    """How often any of these regions was entered."""
    return sum(region.entered for region in regions)


def unless_it_trains(core: Any, call: Function, take_back: Undo) -> Function:
    """`call`; its first call that acts or learns takes the label back."""
    regions = [core.region(name) for name in _TRAINS]

    def judged(*args: object, **kwargs: object) -> object:
        before = entered(regions)
        try:
            return call(*args, **kwargs)
        finally:
            if entered(regions) > before:
                take_back()

    return judged
