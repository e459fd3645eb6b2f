"""Gymnasium: single environments, vectors of them, and wrappers around either.

Every class that has its own `step` is hooked, the program's own too, and only the outermost call
counts: wrappers call what they wrap, vectors step what they hold. An environment step is one of
each environment of a vector, and an episode ends where `terminated` or `truncated` says so. With
Gymnasium's default autoreset the step after that only resets, and is a step of the vector as
programs count them.
"""

from __future__ import annotations

from hotloop.hooks.env_facts import growth
from hotloop.hooks.steps import one_stepped, vector_was_stepped
from hotloop.hooks.table import Library, Note, Place


def _every(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    return Place(module, name, phase, after=after, outermost=True, overrides=True)


_VECTOR = "gymnasium.vector.vector_env"
#: Programs overlap the two halves of a step with work of their own, so each is a part of it.
_ASYNC = "gymnasium.vector.async_vector_env"

LIBRARY = Library(
    title="Gymnasium",
    distribution="gymnasium",
    places=(
        _every("gymnasium.core", "Env.step", "env.step", one_stepped),
        _every("gymnasium.core", "Env.reset", "env.reset", growth.was_reset),
        _every("gymnasium.core", "Env.render", "env.render"),
        _every(_VECTOR, "VectorEnv.step", "env.step", vector_was_stepped),
        _every(_VECTOR, "VectorEnv.reset", "env.reset"),
        _every(_VECTOR, "VectorEnv.render", "env.render"),
        Place(_ASYNC, "AsyncVectorEnv.step_async", "env.step", outermost=True),
        Place(
            _ASYNC,
            "AsyncVectorEnv.step_wait",
            "env.step",
            outermost=True,
            after=vector_was_stepped,
        ),
    ),
)
