"""The purpose of a jitted JAX function, from its name and from what its trace called."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import TYPE_CHECKING

from hotloop.hooks.program import vocabulary as v
from hotloop.hooks.program.recognition import in_function
from hotloop.hooks.protocols import Foreign, Function, Note, Undo
from hotloop.hooks.redirect import compiled_types, is_really, wrapped_by, written

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext


class Jitted:
    """What is known about one jitted function."""

    def __init__(self, context: HookContext, name: str, function: object = None) -> None:
        self._context = context
        self.name = name
        self.words = [word for word in v.words_of(name) if word not in _SAYS_NOTHING]
        code = written(function)
        # Weak: the function may lead to the jitted one, whose hook must not keep it alive.
        self._function = weakref.ref(code) if isinstance(code, FunctionType) else _nothing
        #: Where its code was written: a function that is made and jitted again has the same.
        self.code_at = (name, _code_at(code))
        #: Whether it is one of JAX's own, such as an operation outside all jitted functions.
        self.of_jax = str(getattr(code, "__module__", "")).partition(".")[0] in ("jax", "jaxlib")
        self._expected: bool | None = True if context.jitted.takes_gradients(function) else None
        #: Gradients taken in one call, and whether inside a loop that is compiled too.
        self.gradients = 0
        self.loops = False
        self.traces = 0
        #: The jitted function itself.
        self.jitted: Callable[[], Foreign] = _nothing
        #: Environment steps of one call, and the trace that they were read from.
        self.steps = self.steps_of = 0
        #: Phases of other calls in the trace.
        self.parts: set[str] = set()
        #: Which argument is the batch, since which trace.
        self.batch: int | None = None
        self.batch_of = 0
        #: Whether a call chooses the next action too (`jitted_agents`); None: not known yet.
        self.acts: bool | None = None
        self.rounds = 0
        #: Samples that were counted while that was not known.
        self.samples = 0
        self._phase: str | None = ""
        #: The phases of a library's loop in Python that were open at its last call.
        self._around = False, False
        self._timed: dict[tuple[bool, bool], Function] = {}

    @property
    def is_network(self) -> bool:
        """Whether it is only a forward pass, whose purpose the order of events decides."""
        return bool(not self.learns and v.NETWORK & set(self.words))

    @property
    def learns(self) -> bool:
        """Whether it takes gradients; before its first trace, judged by its code."""
        if self.traces:
            return bool(self.gradients)
        if self._expected is None:
            function = self._function()
            self._expected = function is not None and bool(
                v.gradient_names(v.reached(function, None))
            )
        return self._expected

    @property
    def is_whole_loop(self) -> bool:
        """Many updates in one call may be the whole training: it has no phases in Python."""
        if not self.loops or self._context.order.envs:
            return False
        if any(self._loop_around()):
            return False  # a part of a library's loop in Python
        return "env.step" in self.parts or not _is_update(self.words)

    @property
    def phase(self) -> str | None:
        """What its name and its shape say that it is."""
        if self._phase == "":
            self._phase = phase_of(self.words) or self._phase_by_shape()
        return self._phase

    def timed(self, call: Function, note: Note) -> Function:
        """`call` inside its phases, and `note` after it; decided once its trace has been seen."""
        # Where the program's own function around it is the update, there is one already.
        around = self._loop_around()
        timed = self._timed.get(around)
        if timed is None:
            names = self._names(*around)
            regions = [
                self._context.core.region(name)
                for name in names
                if name != "learn" or not around[0]
            ]
            timed = call
            for region in reversed(regions):
                timed = region.wrap(timed, after=note if region is regions[0] else None)
            if self.traces:
                self._timed[around] = timed
        return timed

    def _loop_around(self) -> tuple[bool, bool]:
        """Whether `learn` and `collect` are open; while hooks rest, as it was before."""
        core = self._context.core
        if not core.resting:
            self._around = core.is_open("learn"), core.is_open("collect")
        return self._around

    def _names(self, in_learn: bool, in_collect: bool) -> tuple[str, ...]:
        if self.gradients and not self.is_whole_loop:
            return ("learn", "learn.step")
        if not self.traces and (
            _is_update(self.words)
            or (in_learn and self.words == ["train"])
            or (self.learns and (self._context.order.envs or in_learn))
        ):
            return ("learn", "learn.step")
        phase = self.phase
        if phase is None and in_collect and self.is_network:
            return ("policy.act",)  # a library's rollout calls it between two steps
        if phase is None or self.learns:
            own = f"jax.{self.name}"
            self._context.profiler.categories.setdefault(own, "Model")
            return ("loop.compiled", own) if self.gradients else (own,)
        self._context.profiler.mark(phase, "shape")
        return (phase,)

    def _phase_by_shape(self) -> str | None:
        """What the same function would be without `jit`; updates are known by their trace."""
        function = self._function()
        if function is None or self.name.startswith("_"):
            return None
        for found in in_function(None, self.name, function):
            if found.kind not in ("learn", "network"):
                return found.phases[0]
        return None


#: Set on what is called instead of a jitted function, where that cannot be hooked in place. Set to
#: itself: other decorators copy attributes.
_MARK = "__hotloop_jitted__"


def _nothing() -> None:
    return None


def mark_jitted(call: object) -> None:
    """Mark a function whose calls already have their phases, for `is_jitted`."""
    if isinstance(call, FunctionType):
        setattr(call, _MARK, call)
    else:
        compiled_types.add(type(call))


def is_jitted(function: object) -> bool:
    """Whether a function is jitted, so that its calls already have their phases."""
    return function is not None and getattr(function, _MARK, None) is function


class _Calling(threading.local):
    """The jitted functions that a thread is in, the outermost first."""

    def __init__(self) -> None:
        self.stack: list[Jitted] = []


class JittedCalls:
    """What one run knows about its jitted functions."""

    def __init__(self) -> None:
        self._calling = _Calling()
        #: Functions that hold loops with updates in them, and those that step environments.
        self.whole_loops: set[str] = set()
        self.rollouts: set[str] = set()
        #: Where the code of functions was written that have been traced.
        self.traced: set[object] = set()
        #: Those of both kinds whose environment steps are known.
        self.counted: set[str] = set()
        #: Functions that take gradients of others, and what detaches their hooks.
        self._gradients: weakref.WeakKeyDictionary[Function, Undo] = weakref.WeakKeyDictionary()

    def mark_gradient(self, function: Function, detach: Undo) -> None:
        """This function takes gradients of another one."""
        self._gradients[function] = detach

    def detach_gradients(self) -> None:
        """Remove the hooks of all functions that take gradients."""
        for detach in list(self._gradients.values()):
            detach()

    def takes_gradients(self, function: object) -> bool:
        """Whether a function, or the function it wraps, takes gradients of another one."""
        found = (each for each in (function, wrapped_by(function)) if is_really(each, FunctionType))
        return any(each in self._gradients for each in found)

    @property
    def stack(self) -> list[Jitted]:
        """The jitted functions that this thread is in, the outermost first."""
        return self._calling.stack

    def note_part(self, phase: str | None) -> None:
        """Something of that phase was called while a jitted function is traced."""
        stack = self._calling.stack
        if stack and phase is not None:
            stack[-1].parts.add(phase)

    def remarks(self) -> list[str]:
        """Remarks for the report."""
        said = [
            f"The jitted function {name} runs a whole training loop inside one compiled call: "
            "environment, policy and learning are all in it, and hotloop cannot look inside. "
            f"It separates compile (making it), jax.{name} (starting it) and loop.compiled "
            f"(its computing, until the results are there). {self._steps_of(name)} "
            "jax.profiler shows what is inside."
            for name in sorted(self.whole_loops)
        ]
        said += [
            f"The jitted function {name} steps environments inside one compiled call: "
            f"jax.{name} contains them and the policy, and the number of steps cannot be "
            "counted from outside."
            for name in sorted(self.rollouts - self.counted)
        ]
        return said

    def _steps_of(self, name: str) -> str:
        if name in self.counted:
            return "Steps are counted from the lengths of its scans."
        return "Environment steps inside it cannot be counted from outside."


def _code_at(function: object) -> object:
    code = getattr(function, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if isinstance(code, CodeType) else id(function)


def _is_update(words: list[str]) -> bool:
    """Whether a name means one update; `train` alone may be all of them."""
    if not words or words[0] not in v.LEARN or not set(words[1:]) <= v.LEARN_MORE:
        return False
    return words not in (["train"], ["training"])


#: Words that say how a function is called, not what it does.
_SAYS_NOTHING = v.words_set("jit jitted jax compiled fn func")


def phase_of(words: list[str]) -> str | None:
    """The phase that a jitted function's name alone shows."""
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
