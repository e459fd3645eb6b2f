"""Jitted functions that choose the next action in the same call that learns.

Some agents of JAX are one function: it stores what the environment answered, learns, and returns
the next action. No call tells that it acts; what surrounds it does. It is called once for every
step of the environments, nobody else acts, and it returns something beside its own state that can
be an action: whole numbers, or one row for each environment.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks.jitted import Jitted
from hotloop.hooks.plain_loop import flow

_profiler = get_profiler()

#: Rounds of one call and one step in a row before a function is said to act.
ROUNDS = 8

#: Names of functions that act and learn in one, for the report.
agents: set[str] = set()
_acting: list[Jitted] = []


def somebody_acted() -> None:
    """Another function chose an action: none that learns does it too."""
    for about in _acting:
        about.acts = False
        agents.discard(about.name)
    _acting.clear()


def judge(about: Jitted, given: Iterable[Any], result: Iterable[Any]) -> None:
    """An update was called, before the order of events is told of it."""
    if flow.order.steps != 1 or _others_act():
        about.rounds = 0
        return
    about.rounds += 1
    if about.rounds < ROUNDS:
        return
    about.acts = returns_an_action(given, result, flow.envs)
    if about.acts:
        agents.add(about.name)
        _acting.append(about)
        _profiler.mark("policy.act", "inferred")


def _others_act() -> bool:
    return bool(flow.actors) or _profiler.recognised.get("policy.act") == "shape"


def returns_an_action(given: Iterable[Any], result: Iterable[Any], envs: int) -> bool:
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


def _kind(leaf: Any) -> tuple[tuple[int, ...], str]:
    return tuple(getattr(leaf, "shape", ())), str(getattr(leaf, "dtype", type(leaf).__name__))


def remarks() -> list[str]:
    """What a reader of the report must know."""
    return [
        f"The jitted function {name} learns and chooses the next action in one compiled call: both "
        "are in learn.step, and hotloop cannot tell them apart inside it."
        for name in sorted(agents)
    ]
