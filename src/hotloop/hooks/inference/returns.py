"""Returns and lengths of episodes.

The native module adds up rewards at every step (`measure/native/returns.c`). It calls Python only
to find out how a new vector environment resets itself, and what `Monitor` or
`RecordEpisodeStatistics` recorded when an episode ends. Libraries whose steps do not pass through
`StepNotes` report here. Without the native module returns are not recorded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from hotloop.capture import schema
from hotloop.hooks.inference.reward_wrappers import below_changes
from hotloop.hooks.inference.step_results import is_on_host
from hotloop.hooks.inference.steps import NOT_TRAINING
from hotloop.hooks.protocols import Foreign
from hotloop.hooks.telemetry.attributes import read
from hotloop.measure.core import Core, native_parts
from hotloop.measure.profiler import Profiler

#: What the step after an episode's end is: the first of the next, a call that only resets, or
#: nothing until the program resets.
AUTORESET_SAME_STEP, AUTORESET_NEXT_STEP, AUTORESET_DISABLED = range(3)
_MODES: Final = {
    "SAME_STEP": AUTORESET_SAME_STEP,
    "NEXT_STEP": AUTORESET_NEXT_STEP,
    "DISABLED": AUTORESET_DISABLED,
}
#: Wrappers of one environment that are searched for one that resets it.
_MOST_WRAPPERS: Final = 32


class Returns:
    """Records the episodes of one run in one process."""

    def __init__(self, profiler: Profiler) -> None:
        self._core = profiler.core
        self._gauges = profiler.gauges
        self._module = module = native_parts(profiler.core)
        self.native: Foreign = module and module.Returns(self._core, autoreset_of, recorded_in)
        profiler.returns = self.native

    def step(
        self,
        env: object,
        envs: int,
        rewards: list[float],
        ends: list[bool],
        indices: list[int] | None = None,
    ) -> None:
        """Some environments of a vector made a step."""
        if self.native is not None:
            self.native.step(env, envs, rewards, ends, indices, self._core.is_open("evaluate"))

    def ended(self, value: float, length: int) -> None:
        """An episode has ended that the library added up itself."""
        if self.native is not None:
            evaluates = self._core.is_open("evaluate")
            kind = self._module.EVALUATION if evaluates else self._module.TRAINING
            self.native.ended(kind, value, length)

    def watch(self, target: float, reached: Callable[[], None]) -> None:
        """Call once as the mean return of the last 100 training episodes reaches the target."""
        if self.native is not None:
            self.native.watch(target, reached)

    def was_reset(self, result: object, env: object = None, *_: Foreign, **kwargs: Foreign) -> None:
        """A note after `reset` of an environment or a vector: unfinished episodes are dropped."""
        if self.native is None:
            return
        # `reset_mask` chooses environments whose episodes ended. Gymnasium has taken it out of the
        # options by now, so a reset of all environments with options looks the same.
        options = kwargs.get("options")
        partly = options is not None and autoreset_of(env) == AUTORESET_DISABLED
        evaluates = self._core.is_open(*NOT_TRAINING)
        known = self.native.was_reset(env, partly, evaluates)
        if known or self._core.is_open("env.step"):  # the reset of one environment of a vector
            return
        below = below_changes(env)
        if below is not None and not below.recorded:
            if below.envs:
                self.native.follow(env, below.envs, evaluates)
            elif not evaluates:
                self._gauges[schema.REWARDS_CHANGED] = 1.0


def autoreset_of(env: Foreign) -> int:
    """How an environment begins its next episode by itself, as Gymnasium names it."""
    mode = (read(env, "metadata") or {}).get("autoreset_mode")
    if mode is not None and read(env, "num_envs") is not None:
        return _MODES.get(getattr(mode, "name", ""), AUTORESET_SAME_STEP)
    for _ in range(_MOST_WRAPPERS):
        if type(env).__name__ in ("Autoreset", "AutoResetWrapper"):
            return AUTORESET_NEXT_STEP
        env = read(env, "env")
        if env is None:
            break
    return AUTORESET_SAME_STEP


def recorded_in(info: Foreign) -> list[tuple[float, int]]:
    """(return, length) of the episodes that a recorder noted in `info` as they ended."""
    if type(info) is list or type(info) is tuple:  # one for each environment
        return [pair for each in info for pair in recorded_in(each)]
    if not isinstance(info, dict):
        return []
    found = info.get("episode")
    if found is None:
        last = info.get("final_info")
        return recorded_in(last) if isinstance(last, dict) else []
    if not isinstance(found, dict) or "r" not in found or "l" not in found:
        return []
    returns, lengths = found["r"], found["l"]
    if not (is_on_host(returns) and is_on_host(lengths)):
        return []
    if not getattr(returns, "shape", ()):
        return [(float(returns), int(lengths))]
    chosen = info.get("_episode", found.get("_r"))
    if not is_on_host(chosen):
        return []
    pairs = zip(returns.tolist(), lengths.tolist(), strict=True)
    if chosen is None:
        return [(float(value), int(length)) for value, length in pairs]
    return [(float(v), int(n)) for (v, n), is_one in zip(pairs, chosen, strict=False) if is_one]


def host_list(tensor: Foreign) -> list[Foreign] | None:
    """A torch tensor's values; None on a device, because reading would wait."""
    if not tensor.is_cpu:
        return None
    # `tolist` is hooked, and this reading is not the program's.
    listed = Core.original(type(tensor).tolist)(tensor.detach().reshape(-1))
    return list(listed)
