"""What a jitted function of JAX is for, from its name and from what its trace went through."""

from __future__ import annotations

from typing import Any

from hotloop import get_profiler
from hotloop.hooks import vocabulary as v
from hotloop.hooks.plain_loop import flow

_profiler = get_profiler()
_core = _profiler.core


class Jitted:
    """What is known of one jitted function."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.words = v.words_of(name)
        #: Gradients taken in one call, and whether inside a loop that is compiled too.
        self.gradients = 0
        self.loops = False
        self.traces = 0
        #: Which argument has the rows.
        self.batch: int | None = None
        self._regions: tuple[Any, ...] | None = None

    @property
    def is_network(self) -> bool:
        """A network that is asked, not taught: the order of events tells what for."""
        return bool(self.traces and not self.gradients and _NETWORK & set(self.words))

    @property
    def is_whole_loop(self) -> bool:
        """Many updates in one call may be the whole training: it has no phases in Python."""
        return self.loops and not flow.envs and not _is_update(self.words)

    def regions(self) -> tuple[Any, ...]:
        """The phases of a call, the outermost first; decided once its trace has been seen."""
        if self._regions is not None:
            return self._regions
        regions = tuple(map(_core.region, self._names()))
        if self.traces:
            self._regions = regions
        return regions

    def _names(self) -> tuple[str, ...]:
        if self.gradients and not self.is_whole_loop:
            return ("learn", "learn.step")
        if not self.traces and _is_update(self.words):
            return ("learn", "learn.step")
        phase = phase_of(self.words)
        if phase is None or self.gradients:
            own = f"jax.{self.name}"
            _profiler.categories.setdefault(own, "Model")
            return (own,)
        _profiler.mark(phase, "shape")
        return (phase,)


#: Jitted functions that hold loops with updates in them.
whole_loops: set[str] = set()


def remarks() -> list[str]:
    """What a reader of the report must know."""
    return [
        f"The jitted function {name} runs a whole training loop inside one compiled call: there "
        "are no phases in Python to time. jax.profiler shows what is inside."
        for name in sorted(whole_loops)
    ]


def _is_update(words: list[str]) -> bool:
    """Whether a name says one update; `train` alone may be all of them."""
    if not words or words[0] not in v.LEARN or not set(words[1:]) <= v.LEARN_MORE:
        return False
    return words not in (["train"], ["training"])


#: Words of a function that is a network, for whatever it is called.
_NETWORK = v.words_set(
    "policy actor critic net network q qnet forward apply predict agent inference model"
)


def phase_of(words: list[str]) -> str | None:
    """A phase that a jitted function's name tells by itself."""
    said = set(words)
    if not words:
        return None
    if words == ["act"] or (words[0] in v.ACT and {"action", "actions"} & said):
        return "policy.act"
    if said & {"gae", "advantage", "advantages"} or (said & {"returns"} and len(words) > 1):
        return "advantage"
    if words in (["env", "step"], ["step", "env"], ["step"]):
        return "env.step"
    if words in (["env", "reset"], ["reset", "env"], ["reset"]):
        return "env.reset"
    return None
