"""What is noted when an environment, or a vector of them, was stepped.

Every table of environments has one of these beside its `env.step`: steps and ended episodes are
counted, the order of the loop is told, and now and then the facts of `env_facts` are looked at.
The native core does all but the last by itself (`native/steps.c`), because it runs beside steps of
a few microseconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks import tables
from hotloop.hooks.env_facts import MOST_IN_TURN, growth, turns, vector_stepped
from hotloop.hooks.plain_loop import flow

_core = get_profiler().core
_count = _core.count
_is_open = _core.is_open

Note = Callable[..., None]

#: Steps inside these are not the training's: a library that has callbacks makes its own elsewhere.
NOT_TRAINING = ("evaluate", "callback")

#: Where a vector's result has one entry for each environment.
REWARDS = 1
#: Instead of that, for the step of one environment, and where only the result can tell.
ONE, EITHER = -1, -2


def look_at_one(result: Any, env: Any, envs: int, ended: int | None) -> None:
    """Facts of one environment that was stepped."""
    if ended:
        growth.ended(env)
    turns.stepped(env)
    tables.look()


def look_at_vector(result: Any, env: Any, envs: int, ended: int | None) -> None:
    """Facts of a vector of environments that was stepped."""
    if isinstance(result, tuple):
        vector_stepped(result, envs)


class Ends:
    """Ends of single environments' episodes.

    Some programs step on after one, which is no other end. Where every step is one, episodes are of
    one step.
    """

    def __init__(self) -> None:
        self._reset = _core.region("env.reset")
        #: Environment -> (whether it has had a step that ended nothing, whether its last one ended
        #: an episode, resets of all environments by then).
        self._played: dict[int, tuple[bool, bool, int]] = {}

    def new(self, env: Any, ended: int) -> int:
        """How many episodes a step has ended."""
        goes_on, over, before = self._played.get(id(env), (False, False, 0))
        resets = self._reset.entered
        if len(self._played) >= MOST_IN_TURN:
            self._played.clear()
        self._played[id(env)] = (goes_on or not ended, bool(ended), resets)
        return 0 if over and goes_on and before == resets else ended


def _noting(rewards: int, tells: bool, native: bool = True) -> Note:
    """The note of one kind of step; it `tells` the order of the loop, or a library's table does."""
    look = look_at_one if rewards == ONE else look_at_vector
    ends = Ends()

    def stepped(result: Any, env: Any = None, *_: Any, **__: Any) -> None:
        # (observation, reward, terminated, truncated, info), or four of them with `done`.
        if _is_open(*NOT_TRAINING):
            return
        cut = result[3] if len(result) == 5 else None
        if rewards == ONE:
            envs, ended = 1, ends.new(env, int(bool(result[2] or cut)))
        else:
            envs, ended = len(result[rewards]), count_ended(result[2], cut)
        _count("env_steps", envs)
        if ended:
            _count("episodes", ended)
        look(result, env, envs, ended)
        if tells:
            flow.stepped(envs)

    return (native and flow.native_steps(stepped, look, rewards, tells)) or stepped


def count_ended(terminated: Any, truncated: Any) -> int:
    """How many of a vector's episodes have ended.

    Flags are looked at as bytes, twenty times faster than NumPy's `any` for the few that there
    are. An array of another kind may live on a device, which a look would wait for.
    """
    if not hasattr(terminated, "tobytes"):
        return 0
    ended = int(terminated.tobytes().count(1))
    if truncated is not None:
        cut = int(truncated.tobytes().count(1))
        if ended and cut:
            return int((terminated | truncated).sum())
        ended += cut
    return ended


#: One environment was stepped; a vector of them; a vector inside a library's rollout.
one_stepped = _noting(ONE, tells=True)
vector_was_stepped = _noting(REWARDS, tells=True)
library_vector_stepped = _noting(REWARDS, tells=False)
