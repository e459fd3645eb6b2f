"""The old gym, which Gymnasium continues: the same classes; steps may return four values."""

from __future__ import annotations

from typing import Any

from hotloop.hooks.steps import one_stepped, vector_was_stepped
from hotloop.hooks.table import Library, Place


def _count(result: Any, env: Any, *_: Any, **__: Any) -> None:
    # Its vectors are environments too.
    if getattr(env, "num_envs", None) is not None and hasattr(result[1], "__len__"):
        vector_was_stepped(result, env)
    else:
        one_stepped(result, env)


LIBRARY = Library(
    title="gym",
    distribution="gym",
    places=tuple(
        Place(
            "gym.core",
            f"Env.{method}",
            phase,
            after=_count if method == "step" else None,
            outermost=True,
            overrides=True,
        )
        for method, phase in (
            ("step", "env.step"),
            ("reset", "env.reset"),
            ("render", "env.render"),
        )
    ),
)
