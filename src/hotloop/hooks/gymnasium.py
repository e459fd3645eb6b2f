"""Gymnasium: single environments, vectors of them, and wrappers around either.

Every class that has its own `step` is hooked, the program's own too, and only the outermost call
counts: wrappers call what they wrap, vectors step what they hold. An environment step is one of
each environment of a vector, and an episode ends where `terminated` or `truncated` says so. With
Gymnasium's default autoreset the step after that only resets, and is a step of the vector as
programs count them.
"""

from __future__ import annotations

from typing import Any

from hotloop import get_profiler
from hotloop.hooks.env_facts import growth, turns, vector_stepped
from hotloop.hooks.plain_loop import flow
from hotloop.hooks.table import Library, Note, Place

_count = get_profiler().core.count
_is_open = get_profiler().core.is_open
_stepped = flow.stepped


def count_step(result: Any, env: Any = None, *_: Any, **__: Any) -> None:
    """One environment was stepped. This runs beside steps of a few microseconds."""
    if _is_open("evaluate"):
        return
    _count("env_steps", 1)
    # (observation, reward, terminated, truncated, info), or the old gym's four with `done`.
    if result[2] or (len(result) == 5 and result[3]):
        _count("episodes", 1)
        growth.ended(env)
    turns.stepped(env)
    _stepped(1)


def note_reset(result: Any, env: Any = None, *_: Any, **__: Any) -> None:
    """An environment was reset."""
    growth.was_reset(env)


def count_vector_step(result: Any, *_: Any, **__: Any) -> None:
    """A vector of environments was stepped."""
    if _is_open("evaluate"):
        return
    envs = len(result[1])
    _count("env_steps", envs)
    ended = count_ended(result[2], result[3] if len(result) == 5 else None)
    if ended:
        _count("episodes", ended)
    vector_stepped(result, envs)
    _stepped(envs)


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


def _every(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    return Place(module, name, phase, after=after, outermost=True, overrides=True)


_VECTOR = "gymnasium.vector.vector_env"
#: Programs overlap the two halves of a step with work of their own, so each is a part of it.
_ASYNC = "gymnasium.vector.async_vector_env"

LIBRARY = Library(
    title="Gymnasium",
    distribution="gymnasium",
    places=(
        _every("gymnasium.core", "Env.step", "env.step", count_step),
        _every("gymnasium.core", "Env.reset", "env.reset", note_reset),
        _every("gymnasium.core", "Env.render", "env.render"),
        _every(_VECTOR, "VectorEnv.step", "env.step", count_vector_step),
        _every(_VECTOR, "VectorEnv.reset", "env.reset"),
        _every(_VECTOR, "VectorEnv.render", "env.render"),
        Place(_ASYNC, "AsyncVectorEnv.step_async", "env.step", outermost=True),
        Place(
            _ASYNC,
            "AsyncVectorEnv.step_wait",
            "env.step",
            outermost=True,
            after=count_vector_step,
        ),
    ),
)
