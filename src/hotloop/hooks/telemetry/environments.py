"""Telemetry of environments and replay buffers, at next to no cost.

- the number of environments that a program steps in turn, one call each (`envs_in_turn`), or all
  together (`envs`), and the bytes of one environment's observation (`observation_bytes`);
- the memory that a replay buffer's arrays, or the transitions of its deque, need when it is full
  (`buffer_bytes`), and the part of that which is images stored as floats;
- which containers of an environment, or of the program's wrappers around it, grow, and whether
  they grow in steps or in resets: objects that survive a reset look the same as a growing history
  in every timing.
"""

from __future__ import annotations

import sys
import weakref
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from hotloop.capture import schema
from hotloop.capture.schema import GrowingAttribute, Notes
from hotloop.hooks.program.files import is_program_file
from hotloop.hooks.protocols import Foreign
from hotloop.hooks.telemetry.attributes import MOST_ATTRIBUTES, attributes_of, read

if TYPE_CHECKING:
    from hotloop.measure.profiler import Profiler

#: Maximum number of environments stepped in turn: beyond that, counting restarts.
MOST_IN_TURN = 4096
#: The first episodes are all inspected, later ones ever more rarely.
ALWAYS_INSPECTED = 16
#: Maximum number of wrappers around an environment to inspect.
MOST_LAYERS = 16
#: Episodes that separate growth from chance, and the least that a container must have grown by.
ENOUGH_EPISODES = 4
LEAST_GROWTH = 20
#: Resets without a call while nothing is to be inspected: until an episode's end says otherwise.
MOST_PASSED = 1_000_000
#: Maximum number of buffers to inspect.
MOST_BUFFERS = 64
#: An array of images: transitions, height, width, and perhaps channels.
FRAME_DIMENSIONS = 3
_CONTAINERS = (list, dict, set, deque)


class Turns:
    """Counts environments stepped in turn: each once before the first is stepped again."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._first = 0
        self._seen: set[int] = set()
        self._steps = 0

    def stepped(self, env: Foreign) -> None:
        me = id(env)
        if me == self._first:
            if self._steps == len(self._seen):
                self._profiler.gauges[schema.ENVS_IN_TURN] = self._steps
            self._seen.clear()
            self._steps = 0
        elif self._steps > MOST_IN_TURN or not self._first:
            self._first = me
            self._seen.clear()
            self._steps = 0
        self._seen.add(me)
        self._steps += 1


class Inspections:
    """Which of many moments to inspect: the first ones all, later ones ever more rarely."""

    def __init__(self) -> None:
        self.seen = 0
        self._due = 1

    @property
    def before_next(self) -> int:
        """How many moments come before the next one to inspect."""
        return max(self._due - 1 - self.seen, 0)

    def due(self) -> bool:
        """One more such moment; whether to inspect it."""
        self.seen += 1
        if self.seen < self._due:
            return False
        self._due = self.seen + 1 + (self.seen // 4 if self.seen >= ALWAYS_INSPECTED else 0)
        return True


class Growth:
    """What an environment keeps: sizes at the end of an episode and after the reset."""

    def __init__(self) -> None:
        self._env: weakref.ref[Foreign] | None = None
        #: Its outermost wrapper, and numbers of others around environments that are not watched:
        #: finding out what is inside takes longer than everything else here.
        self._outermost: weakref.ref[Foreign] | None = None
        self._others: set[int] = set()
        self._episodes = Inspections()
        self._looking = self._was_due = False
        self._ended: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        #: Attribute -> [grown in steps, grown in resets, size now].
        self._grown: dict[str, list[int]] = {}
        self._resets = Inspections()
        self._since: dict[str, tuple[int, int]] = {}
        #: Attribute -> [growth, number of resets it took, size now], where only resets were seen.
        self._between: dict[str, list[int]] = {}
        #: Called when the next reset has to be reported.
        self.on_look: Callable[[], None] = lambda: None

    def ended(self, outermost: Foreign) -> None:
        """An episode of this environment is over; it is reset next."""
        if not self._is_watched(outermost):
            return
        self._was_due = self._episodes.due()
        # What an episode adds takes two reads: after a reset, and at the end.
        self._looking = self._was_due or bool(self._begun)
        if self._looking:
            self.on_look()
            self._ended = sizes_of(outermost)
            for name, size in self._ended.items():
                if name in self._begun:
                    self._entry(name)[0] += size - self._begun[name]

    def was_reset(self, result: Foreign, outermost: Foreign = None, passed: int = 0) -> int | None:
        """The environment was reset, and `passed` times before without a call.

        Returns how many of its next resets need no call, None if it is not the one to watch.
        """
        if not self._is_watched(outermost):
            return None
        if self._looking:
            begun = sizes_of(outermost)
            for name, size in begun.items():
                entry = self._entry(name)
                entry[1] += size - self._ended.get(name, size)
                entry[2] = size
            self._begun = begun if self._was_due else {}
            self._looking = False
        elif not self._episodes.seen:
            # Inside a vector only the resets are seen: growth from one to the next.
            self._resets.seen += passed
            if self._resets.due():
                resets = self._resets.seen
                for name, size in sizes_of(outermost).items():
                    first = self._since.setdefault(name, (resets, size))
                    self._between[name] = [size - first[1], resets - first[0], size]
        return MOST_PASSED if self._episodes.seen else self._resets.before_next

    def _is_watched(self, outermost: Foreign) -> bool:
        """One environment is: the first, and when that is gone the next."""
        if self._outermost is not None and self._outermost() is outermost:
            return True
        known = self._env() if self._env is not None else None
        if known is not None and id(outermost) in self._others:
            return False
        env = read(outermost, "unwrapped", outermost)
        try:
            if known is None:
                self._env = weakref.ref(env)
                self._others.clear()
                self._begun, self._since = {}, {}
            elif known is not env:
                if len(self._others) < MOST_IN_TURN:
                    self._others.add(id(outermost))
                return False
        except TypeError:  # it cannot be held weakly
            return False
        with suppress(TypeError):  # a wrapper that cannot is unwrapped each time
            self._outermost = weakref.ref(outermost)
        return True

    def _entry(self, name: str) -> list[int]:
        return self._grown.setdefault(name, [0, 0, 0])

    def notes(self) -> dict[str, Foreign]:
        """Containers that have grown from one episode to the next."""
        grown: dict[str, dict[str, float]]
        if max(self._episodes.seen, self._resets.seen) < ENOUGH_EPISODES:
            return {}
        grown = {
            name: {GrowingAttribute.each_episode: growth / resets, GrowingAttribute.size: size}
            for name, (growth, resets, size) in list(self._between.items())
            if size >= LEAST_GROWTH and growth > 0 and resets > 0
        }
        grown |= {
            name: {
                GrowingAttribute.in_steps: steps,
                GrowingAttribute.in_resets: resets,
                GrowingAttribute.size: size,
            }
            for name, (steps, resets, size) in list(self._grown.items())
            if size >= LEAST_GROWTH and steps + resets > 0
        }
        return {Notes.env_growth: grown} if grown else {}


def sizes_of(env: Foreign) -> dict[str, int]:
    """Lengths of the containers that an environment keeps.

    In itself, in the program's own wrappers around it, and in the objects that these hold: a
    simulator inside an environment leaks as well as the environment does. What a library's wrapper
    keeps (a list of returns) is ignored.
    """
    sizes: dict[str, int] = {}
    for layer in _layers(env):
        for name, value in attributes_of(layer):
            if _is_container(value):
                sizes[name] = len(value)
            elif name != "env" and _is_programs(type(value)):
                for inner, held in attributes_of(value):
                    if _is_container(held):
                        sizes[f"{name}.{inner}"] = len(held)
            if len(sizes) >= MOST_ATTRIBUTES:
                return sizes
    return sizes


def _layers(env: Foreign) -> list[Foreign]:
    """An environment without its wrappers, and those of them that are the program's own."""
    innermost = read(env, "unwrapped", env)
    layers = [innermost]
    for _ in range(MOST_LAYERS):
        if env is innermost:
            break
        if _is_programs(type(env)):
            layers.append(env)
        env = dict(attributes_of(env)).get("env", innermost)
    return layers


def _is_container(value: Foreign) -> bool:
    return type(value) in _CONTAINERS


def _is_programs(cls: type) -> bool:
    """Whether a class is written in one of the program's own files."""
    return is_program_file(getattr(sys.modules.get(cls.__module__), "__file__", None))


class Buffers:
    """How much memory a replay buffer will take once it is full."""

    def __init__(self, profiler: Profiler) -> None:
        self._profiler = profiler
        self._seen: set[int] = set()

    def used(self, buffer: Foreign) -> None:
        """A batch was drawn from this buffer; its contents are inspected the first time."""
        if id(buffer) in self._seen or len(self._seen) >= MOST_BUFFERS:
            return
        self._seen.add(id(buffer))
        values = [value for _, value in attributes_of(buffer)]
        arrays = [v for v in values if _is_array(v)]
        kept = [(array, 1) for array in arrays]
        floats = [(a, 1) for a in arrays if _is_float_frame(a, FRAME_DIMENSIONS)]
        for value in values:
            for row in _newest(value):
                kept.append((row, value.maxlen))
                if _is_float_frame(row, FRAME_DIMENSIONS - 1):
                    floats.append((row, value.maxlen))
        if not kept:
            return
        gauges = self._profiler.gauges
        gauges[schema.BUFFER_BYTES] = sum(int(array.nbytes) * times for array, times in kept)
        gauges[schema.BUFFER_FLOAT_FRAME_BYTES] = sum(int(a.nbytes) * times for a, times in floats)


def _is_array(value: Foreign) -> bool:
    return hasattr(value, "nbytes") and hasattr(value, "dtype")


def _is_float_frame(array: Foreign, dimensions: int) -> bool:
    return len(array.shape) >= dimensions and "float" in str(array.dtype)


def _newest(kept: Foreign) -> list[Foreign]:
    """The arrays of a bounded deque's last transition, except those that the one before has too.

    An observation is mostly the next observation of the transition before: one array in memory.
    """
    if type(kept) is not deque or not kept.maxlen or len(kept) < 2:
        return []
    before = {id(part) for part in _parts(kept[-2])}
    return [part for part in _parts(kept[-1]) if _is_array(part) and id(part) not in before]


def _parts(row: Foreign) -> list[Foreign]:
    if isinstance(row, dict):
        return list(row.values())
    if isinstance(row, (tuple, list)):
        return list(row)
    return [value for _, value in attributes_of(row)]


class Environments:
    """Telemetry of the environments and replay buffers of one run."""

    def __init__(self, profiler: Profiler) -> None:
        # Gauges are looked up each time: a forked child has others.
        self._profiler = profiler
        self.turns = Turns(profiler)
        self.buffers = Buffers(profiler)
        self.growth = Growth()

    def vector_stepped(self, result: Foreign, envs: int) -> None:
        """A vector environment was stepped."""
        gauges = self._profiler.gauges
        gauges[schema.ENVS] = envs
        size = getattr(result[0], "nbytes", None)
        if type(size) is int and envs:
            gauges[schema.OBSERVATION_BYTES] = size / envs
