"""Jitted functions that choose the next action in the same call that learns.

Some JAX agents are one function that stores the result of the environment, learns, and returns the
next action. Only its context shows that it acts: it is called once for every step of the
environments, nothing else acts, and besides its own state it returns something that can be an
action (whole numbers, or one row for each environment).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hotloop.hooks.inference.jitted import Jitted

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

#: Rounds of one call and one step in a row before a function counts as acting.
ROUNDS = 8


class JittedAgents:
    """The jitted functions of one run that act and learn in one call."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._acting: list[Jitted] = []

    def somebody_acted(self) -> None:
        """Another function chose an action, so no learning function does."""
        for about in self._acting:
            about.acts = False
        self._acting.clear()

    def judge(self, about: Jitted, given: Iterable[object], result: Iterable[object]) -> None:
        """An update was called; the event follows."""
        order = self._context.order
        if order.steps != 1 or self._others_act():
            about.rounds = 0
            return
        about.rounds += 1
        if about.rounds < ROUNDS:
            return
        about.acts = returns_an_action(given, result, order.envs)
        if about.acts:
            self._acting.append(about)
            self._context.profiler.mark("policy.act", "inferred")

    def _others_act(self) -> bool:
        order = self._context.order
        recognised = self._context.profiler.recognised
        return bool(order.actors) or recognised.get("policy.act") == "shape"

    def remarks(self) -> list[str]:
        """Remarks for the report."""
        return [
            f"The jitted function {name} learns and chooses the next action in one compiled "
            "call: both are in learn.step, and hotloop cannot separate them."
            for name in sorted({about.name for about in self._acting})
        ]


def returns_an_action(given: Iterable[object], result: Iterable[object], envs: int) -> bool:
    """Whether there is something in a result that can be an action, and was not given as state."""
    new = Counter(map(_kind, result))
    new.subtract(map(_kind, given))
    for (shape, kind), count in new.items():
        whole = kind.startswith(("int", "uint", "bool"))
        if count <= 0 or (len(shape) == 0 and not whole):
            continue  # a loss is one number with a fraction
        if len(shape) == 0 or shape[0] == envs or (envs == 1 and not whole):
            return True
    return False


def _kind(leaf: object) -> tuple[tuple[int, ...], str]:
    return tuple(getattr(leaf, "shape", ())), str(getattr(leaf, "dtype", type(leaf).__name__))
