"""Experiments on a running program, without an edit: a phase is skipped, or slowed down.

    hotloop run --skip learn train.py              # what if this phase cost nothing?
    hotloop run --slow env.step=2ms train.py       # what does it cost to make it slower?
    hotloop run --slow env.step=20% train.py
    hotloop run --every evaluate=10 train.py       # what if it happened less often?

*Skip*: the phase's function runs once; later calls return its last result without running it.
*Slow*: adds a delay to each call; if things run in parallel, the part of it that shows in the whole
tells how much the phase matters (as in causal profiling, Curtsinger & Berger 2015).
*Every*: the phase's function runs every Nth time and returns its last result in between. All of
them change the program, and the capture records it.

`install` and `redirect` call `HookContext.altered` for every function that gets a phase; phases are
altered nowhere else. Phases without a function (a `with` block, an inferred gap) cannot be skipped;
a `with` block can be slowed.
"""

from __future__ import annotations

import functools
import inspect
import os
import re
import threading
import time
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hotloop.capture import schema
from hotloop.capture.schema import Altered, Notes, SkippedPhase, SlowedPhase
from hotloop.errors import HotloopError
from hotloop.hooks.protocols import Function, Undo
from hotloop.measure.profiler import Profiler

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

#: Shorter delays are busy-waits: a sleep cannot be that short.
_SHORTEST_SLEEP_S = 0.0003

#: A function that is called on more objects than this is called on new ones each time (a loss's
#: `backward`): then the last result of all is the last result.
_MOST_OBJECTS = 8

#: Stands for objects that were not seen before.
_NEW_OBJECTS = -1

#: What a network's call may be, which shows only when it is called.
_NETWORK_PHASES = ("policy.act", "learn.forward", "learn.loss", "advantage")

_AMOUNT = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>us|µs|ms|s|%)")
_SECONDS = {"us": 1e-6, "µs": 1e-6, "ms": 1e-3, "s": 1.0}


@dataclass(frozen=True)
class Amount:
    """A slowdown: seconds per call, or a share of the call's own time."""

    seconds: float = 0.0
    share: float = 0.0

    def of(self, took_s: float) -> float:
        return self.seconds + self.share * took_s


def parse_amount(text: str) -> Amount:
    """`2ms`, `500us`, `0.1s` or `20%`."""
    match = _AMOUNT.fullmatch(text.strip().lower())
    if match is None:
        raise HotloopError(f"{text!r} is not a delay; write 2ms, 500us, 0.1s or 20%")
    number = float(match["number"])
    if match["unit"] == "%":
        return Amount(share=number / 100.0)
    return Amount(seconds=number * _SECONDS[match["unit"]])


def parse_every(text: str) -> tuple[str, int]:
    """`evaluate=10`: the phase, and how many calls one run replaces."""
    phase, _, count = text.partition("=")
    if not phase or not count.isdigit() or int(count) < 1:
        raise HotloopError(f"--every {text}: needs a phase and a number, such as evaluate=10")
    return phase, int(count)


def check(skip: list[str], slow: list[str], every: list[str]) -> None:
    """Raise a `HotloopError` for `--skip`, `--slow` or `--every` before anything runs."""
    for text in every:
        if parse_every(text)[0] in skip:
            raise HotloopError(f"--every {text}: that phase is skipped already")
    for phase in skip:
        if not phase or "=" in phase:
            raise HotloopError(f"--skip {phase}: needs the name of a phase, such as --skip learn")
    for text in slow:
        phase, sign, amount = text.partition("=")
        if not phase or not sign:
            raise HotloopError(f"--slow {text}: needs a phase and an amount, such as env.step=2ms")
        parse_amount(amount)
        if phase in skip:
            raise HotloopError(f"--slow {text}: {phase} is skipped already")


class Alterations:
    """The phases of this process that are changed, and how often that happened."""

    def __init__(
        self, profiler: Profiler, skip: list[str], slow: list[str], every: list[str]
    ) -> None:
        self._core = profiler.core
        self._profiler = profiler
        self.skip = frozenset(skip)
        self.slow = {p: parse_amount(a) for p, _, a in (text.partition("=") for text in slow)}
        self._written = {p: a for p, _, a in (text.partition("=") for text in slow)}
        self.every = dict(map(parse_every, every))
        self.skipped = dict.fromkeys([*skip, *self.every], 0)
        self.delayed = dict.fromkeys(self.slow, 0)
        self.added_s = dict.fromkeys(self.slow, 0.0)
        self._inside = _Inside()
        self._pid = os.getpid()
        self._late_s = how_late_sleep_is() if slow else 0.0

    def notes(self) -> dict[str, Any]:
        """The note in the capture that this training was altered, and where."""
        return {
            Notes.altered: {
                Altered.skip: {p: {SkippedPhase.calls: n} for p, n in self.skipped.items()},
                Altered.slow: {
                    phase: {
                        SlowedPhase.by: by,
                        SlowedPhase.calls: self.delayed[phase],
                        SlowedPhase.added_s: self.added_s[phase],
                    }
                    for phase, by in self._written.items()
                },
            }
        }

    def concerns(self, phases: tuple[str, ...]) -> bool:
        return any(phase in (*self.skip, *self.slow, *self.every) for phase in phases)

    # -- functions --

    def altered(self, function: Function, phases: tuple[str, ...], dynamic: bool) -> Function:
        """A function that is about to get these phases, altered if the run asks for it.

        `dynamic`: which phase it is shows only when it is called.
        """
        if not callable(function) or _is_resumed(function):
            return function
        if dynamic and any(phase in _NETWORK_PHASES for phase in phases):
            phases = _NETWORK_PHASES
        if not self.concerns(phases):
            return function
        return self.by_innermost_phase(function) if dynamic else self.function(function, phases)

    def function(self, function: Function, phases: tuple[str, ...]) -> Function:
        """`function`, which always has these phases, altered as requested."""
        for phase in phases:
            if phase in self.skip:
                function = self._skipping(function, phase)
            elif phase in self.every:
                function = self._thinning(function, phase, self.every[phase])
            elif phase in self.slow:
                function = self._slowing(function, phase)
        return function

    def by_innermost_phase(self, function: Function) -> Function:
        """`function`, whose phase may differ from call to call."""
        versions = {
            phase: self.function(function, (phase,))
            for phase in (*self.skip, *self.slow, *self.every)
        }
        innermost = self._core.innermost

        @functools.wraps(function)
        def call(*args: object, **kwargs: object) -> object:
            return versions.get(innermost() or "", function)(*args, **kwargs)

        return call

    def _skipping(self, function: Function, phase: str) -> Function:
        #: The last result for each object that this is called on: an actor's is not a critic's.
        results: dict[int, Any] = {}
        last: list[Any] = [None]

        @functools.wraps(function)
        def skip(*args: object, **kwargs: object) -> object:
            if not self._is_on(phase):
                return function(*args, **kwargs)
            whose = id(args[0]) if args else 0
            if whose in results or len(results) >= _MOST_OBJECTS:
                self.skipped[phase] += 1
                return results.get(whose, last[0])
            with _Altering(self, phase):
                last[0] = results[whose] = function(*args, **kwargs)
            return last[0]

        return skip

    def _thinning(self, function: Function, phase: str, every: int) -> Function:
        #: The last result for each object that came again: two agents each learn every Nth time.
        results: dict[int, Any] = {}
        #: Calls since the last one that ran; those on new objects each time (a checkpoint's
        #: dictionary) count together.
        since: dict[int, int] = {}

        @functools.wraps(function)
        def thin(*args: object, **kwargs: object) -> object:
            if not self._is_on(phase):
                return function(*args, **kwargs)
            # A dictionary or an array is an argument of the call, not its object.
            own = id(args[0]) if args and type(args[0]).__dictoffset__ else _NEW_OBJECTS
            whose = own if own in results else _NEW_OBJECTS
            since[whose] = since.get(whose, every if not results else 0) + 1
            if since[whose] < every:
                self.skipped[phase] += 1
                return results[whose] if whose in results else results[_NEW_OBJECTS]
            since[whose] = 0
            with _Altering(self, phase):
                result = function(*args, **kwargs)
            results[_NEW_OBJECTS] = result
            if len(results) <= _MOST_OBJECTS:
                results[own] = result
            return result

        return thin

    def _slowing(self, function: Function, phase: str) -> Function:
        clock = time.perf_counter

        @functools.wraps(function)
        def slow(*args: object, **kwargs: object) -> object:
            if not self._is_on(phase):
                return function(*args, **kwargs)
            with _Altering(self, phase):
                begin = clock()
                try:
                    return function(*args, **kwargs)
                finally:
                    self.delay(phase, clock() - begin)

        return slow

    def _is_on(self, phase: str) -> bool:
        # Workers forked from this process are not altered.
        return phase not in self.inside and os.getpid() == self._pid

    @property
    def inside(self) -> set[str]:
        return self._inside.phases

    def delay(self, phase: str, took_s: float) -> None:
        """Wait as long as requested, and count it.

        The requested delay is counted: on a busy machine the thread may wake up later, but
        other programs cause that, and a comparison subtracts it like any other wait.
        """
        seconds = self.slow[phase].of(took_s)
        if seconds >= _SHORTEST_SLEEP_S:
            time.sleep(max(seconds - self._late_s, 0.0))
        else:
            until = time.perf_counter() + seconds
            while time.perf_counter() < until:
                pass
        self.delayed[phase] += 1
        self.added_s[phase] += seconds
        self._core.count(schema.ALTERED_DELAY_US, seconds * 1e6)

    # -- with blocks --

    def slow_blocks(self) -> Undo:
        """Slow `with profile(...)` blocks and decorated functions too; returns what undoes it."""
        import hotloop

        profiler = self._profiler
        front, plain, decorator = hotloop.profile, profiler.profile, profiler.profile_function

        def profile_function(name: Any = None, *args: Any, **kwargs: Any) -> Any:
            decorate = decorator(name, *args, **kwargs)
            if callable(name):  # used without parentheses
                return decorate
            return lambda function: decorate(
                self.altered(function, (name or function.__qualname__,), dynamic=False)
            )

        # A program imports `profile` after this, and so gets the slowed one.
        hotloop.profile = profiler.profile = self.profile(plain)
        profiler.profile_function = profile_function  # type: ignore[method-assign]

        def undo() -> None:
            hotloop.profile, profiler.profile = front, plain
            del profiler.profile_function

        return undo

    def profile(self, profile: Function) -> Function:
        """`hotloop.profile` whose `with` blocks are slowed as requested."""

        def altered_profile(*args: object, **kwargs: object) -> object:
            region = profile(*args, **kwargs)
            if args and args[0] in self.slow:
                return _SlowBlock(self, region, args[0])
            return region

        return altered_profile


class _Inside(threading.local):
    """Phases that a thread is altering now: a call inside is part of the same one."""

    def __init__(self) -> None:
        self.phases: set[str] = set()


class _Altering:
    """While a phase is being altered, its inner calls are left alone."""

    __slots__ = ("_alterations", "_phase")

    def __init__(self, alterations: Alterations, phase: str) -> None:
        self._alterations = alterations
        self._phase = phase

    def __enter__(self) -> None:
        self._alterations.inside.add(self._phase)

    def __exit__(self, *_: object) -> None:
        self._alterations.inside.discard(self._phase)


class _SlowBlock:
    """A `with profile(...)` block that takes longer than it would."""

    def __init__(
        self, alterations: Alterations, region: AbstractContextManager[object], phase: str
    ) -> None:
        self._alterations = alterations
        self._region = region
        self._phase = phase
        self._outermost = False

    def __enter__(self) -> object:
        self._outermost = self._phase not in self._alterations.inside
        self._alterations.inside.add(self._phase)
        entered = self._region.__enter__()
        self._begin = time.perf_counter()
        return entered

    def __exit__(self, *error: Any) -> Any:
        if self._outermost:
            self._alterations.delay(self._phase, time.perf_counter() - self._begin)
            self._alterations.inside.discard(self._phase)
        return self._region.__exit__(*error)


def how_late_sleep_is() -> float:
    """How much longer than asked a sleep takes here, when nothing disturbs it."""
    late = []
    for _ in range(10):
        begin = time.perf_counter()
        time.sleep(_SHORTEST_SLEEP_S)
        late.append(time.perf_counter() - begin - _SHORTEST_SLEEP_S)
    return min(max(min(late), 0.0), _SHORTEST_SLEEP_S)


def begin(context: HookContext, skip: list[str], slow: list[str], every: list[str]) -> Alterations:
    """Change these phases from now on, in this process, until the hooks are removed."""
    alterations = context.alterations = Alterations(context.profiler, skip, slow, every)
    context.undo.append(alterations.slow_blocks())
    return alterations


def _is_resumed(function: object) -> bool:
    """Whether it is a generator or coroutine function, which has no last result to return."""
    return (
        inspect.isgeneratorfunction(function)
        or inspect.iscoroutinefunction(function)
        or inspect.isasyncgenfunction(function)
    )
