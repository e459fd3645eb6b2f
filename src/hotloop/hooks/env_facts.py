"""What rules want to know of environments beside their times, noted at next to no cost.

- how many environments a program steps in turn, one call each (`envs_in_turn`), or all together
  (`envs`), and how many bytes an observation of one of them has (`observation_bytes`);
- how much memory a replay buffer's arrays need when they are full (`buffer_bytes`), and how much of
  that is pictures kept as floats;
- which of an environment's containers grow, and whether they do so while it steps or while it is
  reset: objects that survive a reset look the same as a growing history in every timing.
"""

from __future__ import annotations

import weakref
from typing import Any

from hotloop import get_profiler

#: More environments than anyone steps in turn by hand: after so many, start over.
MOST_IN_TURN = 4096
#: The first episodes are all looked at, later ones ever more rarely.
ALWAYS_LOOK = 16
#: An environment with more attributes than this is looked at in part.
MOST_ATTRIBUTES = 64
#: Episodes that tell growth from chance, and the least that a container must have grown by.
ENOUGH_EPISODES = 4
LEAST_GROWTH = 20
#: An array of pictures: rows, height, width, and perhaps channels.
FRAME_DIMENSIONS = 3
_CONTAINERS = (list, dict, set)


#: Its gauges are looked up each time: a forked child has others.
_profiler = get_profiler()


class Turns:
    """How many environments are stepped in turn: each once before the first comes again."""

    def __init__(self) -> None:
        self._first = 0
        self._seen: set[int] = set()
        self._steps = 0

    def stepped(self, env: Any) -> None:
        me = id(env)
        if me == self._first:
            if self._steps == len(self._seen):
                _profiler.gauges["envs_in_turn"] = self._steps
            self._seen.clear()
            self._steps = 0
        elif self._steps > MOST_IN_TURN or not self._first:
            self._first = me
            self._seen.clear()
            self._steps = 0
        self._seen.add(me)
        self._steps += 1


class Growth:
    """What an environment keeps: sizes at the end of an episode and after the reset."""

    def __init__(self) -> None:
        self._env: Any = None
        self._episodes = 0
        self._looking = False
        self._ended: dict[str, int] = {}
        self._begun: dict[str, int] = {}
        #: Attribute -> [grown in steps, grown in resets, size now].
        self._grown: dict[str, list[int]] = {}
        self._resets = 0
        self._since: dict[str, tuple[int, int]] = {}
        #: Attribute -> [grown, over so many resets, size now], where only resets were seen.
        self._between: dict[str, list[int]] = {}

    def ended(self, env: Any) -> None:
        """An episode of this environment is over; it is reset next."""
        env = getattr(env, "unwrapped", env)
        known = self._env() if self._env is not None else None
        if known is None:
            try:
                self._env = weakref.ref(env)
            except TypeError:
                return
        elif known is not env:
            return
        self._episodes += 1
        self._looking = self._episodes % max(self._episodes // ALWAYS_LOOK, 1) == 0
        if self._looking:
            self._ended = sizes_of(env)
            for name, size in self._ended.items():
                if name in self._begun:
                    self._entry(name)[0] += size - self._begun[name]

    def was_reset(self, env: Any) -> None:
        """The environment was reset."""
        env = getattr(env, "unwrapped", env)
        if self._env is None:
            try:
                self._env = weakref.ref(env)
            except TypeError:
                return
        if self._env() is not env:
            return
        if not self._episodes:
            # Inside a vector only the resets are seen: growth from one to the next.
            self._resets += 1
            if self._resets <= ALWAYS_LOOK or self._resets % (self._resets // ALWAYS_LOOK) == 0:
                for name, size in sizes_of(env).items():
                    first = self._since.setdefault(name, (self._resets, size))
                    self._between[name] = [size - first[1], self._resets - first[0], size]
            return
        if self._looking:
            self._begun = sizes_of(env)
            for name, size in self._begun.items():
                entry = self._entry(name)
                entry[1] += size - self._ended.get(name, size)
                entry[2] = size
            self._looking = False
        else:
            self._begun = {}

    def _entry(self, name: str) -> list[int]:
        return self._grown.setdefault(name, [0, 0, 0])

    def notes(self) -> dict[str, Any]:
        """Containers that have grown from one episode to the next."""
        grown: dict[str, dict[str, float]]
        if max(self._episodes, self._resets) < ENOUGH_EPISODES:
            return {}
        grown = {
            name: {"each_episode": growth / resets, "size": size}
            for name, (growth, resets, size) in list(self._between.items())
            if size >= LEAST_GROWTH and growth > 0 and resets > 0
        }
        grown |= {
            name: {"in_steps": steps, "in_resets": resets, "size": size}
            for name, (steps, resets, size) in list(self._grown.items())
            if size >= LEAST_GROWTH and steps + resets > 0
        }
        return {"env_growth": grown} if grown else {}


def sizes_of(env: Any) -> dict[str, int]:
    """Lengths of the containers that are attributes of an object."""
    try:
        attributes = list(vars(env).items())[:MOST_ATTRIBUTES]
    except TypeError:
        return {}
    sizes = {}
    for name, value in attributes:
        kind = type(value)
        if kind in _CONTAINERS or kind.__name__ == "deque":
            sizes[name] = len(value)
    return sizes


class Buffers:
    """How much memory a replay buffer's arrays will take once they are full."""

    def __init__(self) -> None:
        self._seen = 0

    def used(self, buffer: Any) -> None:
        """A batch was drawn from this buffer; its arrays are looked at the first time."""
        if id(buffer) == self._seen:
            return
        self._seen = id(buffer)
        try:
            values = list(vars(buffer).values())
        except TypeError:
            return
        arrays = [v for v in values if hasattr(v, "nbytes") and hasattr(v, "dtype")]
        if not arrays:
            return
        gauges = _profiler.gauges
        gauges["buffer_bytes"] = sum(int(array.nbytes) for array in arrays)
        frames = [a for a in arrays if len(a.shape) >= FRAME_DIMENSIONS and "float" in str(a.dtype)]
        gauges["buffer_float_frame_bytes"] = sum(int(array.nbytes) for array in frames)


turns = Turns()
buffers = Buffers()
growth = Growth()

#: What hooks remember of a run; tables add theirs.
remembered: list[Any] = [turns, buffers, growth]


def start_over() -> None:
    """A new run begins: what was seen before is not part of it."""
    for each in remembered:
        vars(each).update(vars(type(each)()))


def vector_stepped(result: Any, envs: int) -> None:
    """So many environments answered together."""
    gauges = _profiler.gauges
    gauges["envs"] = envs
    bytes_of = getattr(result[0], "nbytes", None)
    if type(bytes_of) is int and envs:
        gauges["observation_bytes"] = bytes_of / envs
