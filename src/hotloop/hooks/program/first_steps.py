"""Decides at its first call whether a method that looks like an environment's step is one.

One value of the result must say whether an episode has ended. A simulator of many environments may
have no episodes: it takes one action for each of them and returns an observation and a reward for
each.
"""

from __future__ import annotations

from typing import Any

from hotloop.hooks.inference.step_results import StepResult, has_flags, step_result_of
from hotloop.hooks.program.confirming import entered
from hotloop.measure.core import Core

#: Arrays, whose shape can be read without running code of the program.
_ARRAYS = ("numpy", "torch", "jax", "jaxlib")
#: Calls of networks: code that makes one chooses actions, or predicts.
_NETWORKS = ("policy.act", "inference", "generate", "learn.forward")


class FirstStep:
    """The arguments of the first call of such a method, and the results of its calls."""

    def __init__(self, core: Core) -> None:
        self._networks = [core.region(name) for name in _NETWORKS]
        self._before = 0
        self._actions = 0
        self._is_step = False

    def given(self, *arguments: object, **named: object) -> None:
        """The first call begins."""
        action = [*arguments[1:], *named.values()][:1]
        self._actions = next(iter(_shape(action[0])), 0) if action else 0
        self._before = entered(self._networks)

    def outcome(self, result: object) -> StepResult | None:
        """What a call returned; None if the first one was no step."""
        if not self._is_step and not self._judge(result):
            return None
        self._is_step = True
        return step_result_of(result)

    def _judge(self, result: object) -> bool:
        if has_flags(result):
            return True
        return self._one_for_each(result) and entered(self._networks) == self._before

    def _one_for_each(self, result: object) -> bool:
        """Whether each action got an observation, a reward and, if there is more, an end."""
        if not isinstance(result, tuple) or len(result) < 2 or self._actions < 2:
            return False
        observations, each = _shape(result[0]), self._actions
        numbers = [_shape(part) for part in result[1:3] if not isinstance(part, dict)]
        return (
            len(observations) > 1
            and observations[0] == each
            and bool(numbers)
            and all(shape in ((each,), (each, 1)) for shape in numbers)
            and "float" in str(getattr(result[1], "dtype", ""))
        )


def _shape(value: Any) -> tuple[int, ...]:
    """The lengths of an array or a list; empty for anything else."""
    if type(value) in (list, tuple):
        return (len(value),)
    if type(value).__module__.partition(".")[0] in _ARRAYS:
        return tuple(value.shape)
    return ()
