"""The old gym, which Gymnasium continues: the same classes; steps may return four values."""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, every
from hotloop.hooks.protocols import Foreign


def library(context: HookContext) -> Library:
    """The table of gym."""
    one, vector = context.steps.one, context.steps.vector

    def stepped(result: Foreign, env: Foreign, *_: object, **__: object) -> None:
        # Its vector environments are environments too.
        is_vector = getattr(env, "num_envs", None) is not None and hasattr(result[1], "__len__")
        (vector if is_vector else one)(result, env)

    return Library(
        title="gym",
        distribution="gym",
        targets=(
            every("gym.core", "Env.step", "env.step", stepped),
            every("gym.core", "Env.reset", "env.reset", context.returns.was_reset),
            every("gym.core", "Env.render", "env.render"),
        ),
    )
