"""What a jitted function of JAX is for, from its name and from what its trace went through."""

from __future__ import annotations

import threading
from collections.abc import Callable
from types import FunctionType
from typing import Any

from hotloop import get_profiler
from hotloop.hooks import vocabulary as v
from hotloop.hooks.plain_loop import flow
from hotloop.hooks.recognise import in_function
from hotloop.hooks.standin import written

_profiler = get_profiler()
_core = _profiler.core


class Jitted:
    """What is known of one jitted function."""

    def __init__(self, name: str, function: Any = None) -> None:
        self.name = name
        self.words = [word for word in v.words_of(name) if word not in _SAYS_NOTHING]
        self._function = written(function)
        self._expected: bool | None = True if hasattr(function, TAKES_GRADIENTS) else None
        #: Gradients taken in one call, and whether inside a loop that is compiled too.
        self.gradients = 0
        self.loops = False
        self.traces = 0
        #: Phases of what the trace went through beside.
        self.parts: set[str] = set()
        #: Which argument has the rows, since which trace.
        self.batch: int | None = None
        self.batch_of = 0
        #: Whether a call chooses the next action too (`jitted_agents`); None: not known yet.
        self.acts: bool | None = None
        self.rounds = 0
        #: Rows that were counted while that was not known.
        self.rows = 0
        self._phase: str | None = ""
        self._timed: dict[bool, Callable[..., Any]] = {}

    @property
    def is_network(self) -> bool:
        """A network that is asked, not taught: the order of events tells what for."""
        return bool(not self.learns and v.NETWORK & set(self.words))

    @property
    def learns(self) -> bool:
        """Whether it takes gradients; before its first trace, as far as its code tells."""
        if self.traces:
            return bool(self.gradients)
        if self._expected is None:
            function = self._function
            self._expected = isinstance(function, FunctionType) and bool(
                v.gradient_names(v.reached(function, None))
            )
        return self._expected

    @property
    def is_whole_loop(self) -> bool:
        """Many updates in one call may be the whole training: it has no phases in Python."""
        if not self.loops or flow.envs:
            return False
        return "env.step" in self.parts or not _is_update(self.words)

    @property
    def phase(self) -> str | None:
        """What its name and its shape say that it is."""
        if self._phase == "":
            self._phase = phase_of(self.words) or self._phase_by_shape()
        return self._phase

    def timed(self, call: Callable[..., Any], note: Callable[..., None]) -> Callable[..., Any]:
        """`call` inside its phases, and `note` after it; decided once its trace has been seen."""
        # Where the program's own function around it is the update, there is one already.
        inside = _core.is_open("learn")
        timed = self._timed.get(inside)
        if timed is None:
            names = self._names()
            regions = [_core.region(name) for name in names if name != "learn" or not inside]
            timed = call
            for region in reversed(regions):
                timed = region.wrap(timed, after=note if region is regions[0] else None)
            if self.traces:
                self._timed[inside] = timed
        return timed

    def _names(self) -> tuple[str, ...]:
        if self.gradients and not self.is_whole_loop:
            return ("learn", "learn.step")
        if not self.traces and (_is_update(self.words) or (self.learns and flow.envs)):
            return ("learn", "learn.step")
        phase = self.phase
        if phase is None or self.learns:
            own = f"jax.{self.name}"
            _profiler.categories.setdefault(own, "Model")
            return ("loop.compiled", own) if self.gradients else (own,)
        _profiler.mark(phase, "shape")
        return (phase,)

    def _phase_by_shape(self) -> str | None:
        """What the same function would be without `jit`; updates are known by their trace."""
        function = self._function
        if not isinstance(function, FunctionType) or self.name.startswith("_"):
            return None
        for found in in_function(None, self.name, function):
            if found.kind not in ("learn", "network"):
                return found.phases[0]
        return None


#: Set on a function that takes gradients of another one.
TAKES_GRADIENTS = "__hotloop_takes_gradients__"
#: Set on what is called instead of a jitted function, to itself: other decorators copy attributes.
_MARK = "__hotloop_jitted__"


def mark_jitted(call: Any) -> None:
    """Let `is_jitted` know that calls of this function are in their phases."""
    setattr(call, _MARK, call)


def is_jitted(function: Any) -> bool:
    """Whether a function is jitted, and knows itself what its calls are for."""
    return function is not None and getattr(function, _MARK, None) is function


_own = threading.local()


def calling() -> list[Jitted]:
    """The jitted functions that this thread is in, the outermost first."""
    stack: list[Jitted] | None = getattr(_own, "calling", None)
    if stack is None:
        stack = _own.calling = []
    return stack


def note_part(phase: str | None) -> None:
    """Something of that phase was called while a jitted function is traced."""
    stack = calling()
    if stack and phase is not None:
        stack[-1].parts.add(phase)


#: Jitted functions that hold loops with updates in them, and those that step environments.
whole_loops: set[str] = set()
rollouts: set[str] = set()


def remarks() -> list[str]:
    """What a reader of the report must know."""
    said = [
        f"The jitted function {name} runs a whole training loop inside one compiled call: "
        "environment, policy and learning are in it, and hotloop cannot look inside. What can be "
        f"told apart is compile (making it), jax.{name} (starting it) and loop.compiled (its "
        "computing, until the results are there). jax.profiler shows what is inside."
        for name in sorted(whole_loops)
    ]
    said += [
        f"The jitted function {name} steps environments inside one compiled call: jax.{name} holds "
        "them and the policy, and how many steps they were cannot be counted from outside."
        for name in sorted(rollouts)
    ]
    return said


def _is_update(words: list[str]) -> bool:
    """Whether a name says one update; `train` alone may be all of them."""
    if not words or words[0] not in v.LEARN or not set(words[1:]) <= v.LEARN_MORE:
        return False
    return words not in (["train"], ["training"])


#: Words that say how a function is called, not what it does.
_SAYS_NOTHING = v.words_set("jit jitted jax compiled fn func")


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
