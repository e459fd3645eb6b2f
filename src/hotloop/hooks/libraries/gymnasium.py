"""Gymnasium: single environments, vector environments, and wrappers around either.

Every class with its own `step` is hooked, including the program's. Only the outermost call counts,
because wrappers and vector environments call the environments inside them. A vector step counts
once per environment, and an episode ends if `terminated` or `truncated` is set. With Gymnasium's
default autoreset, the step after that only resets; it still counts, as programs count it.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, every, once

_VECTOR = "gymnasium.vector.vector_env"
#: Programs do work of their own between the two halves of a step, so each half is a region.
_ASYNC = "gymnasium.vector.async_vector_env"


def library(context: HookContext) -> Library:
    """The table of Gymnasium."""
    steps = context.steps
    was_reset, vector_reset = context.environment_was_reset, context.returns.was_reset
    return Library(
        title="Gymnasium",
        distribution="gymnasium",
        targets=(
            every("gymnasium.core", "Env.step", "env.step", steps.one),
            every("gymnasium.core", "Env.reset", "env.reset", was_reset),
            every("gymnasium.core", "Env.render", "env.render"),
            every(_VECTOR, "VectorEnv.step", "env.step", steps.vector),
            every(_VECTOR, "VectorEnv.reset", "env.reset", vector_reset),
            every(_VECTOR, "VectorEnv.render", "env.render"),
            once(_ASYNC, "AsyncVectorEnv.step_async", "env.step"),
            once(_ASYNC, "AsyncVectorEnv.step_wait", "env.step", steps.vector),
        ),
    )
