"""sb3-contrib: its algorithms override methods that the table of Stable-Baselines3 follows.

Only policies with their own base class, and names bound at import, need targets here.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, every, once

_MASKABLE = "sb3_contrib.common.maskable"


def library(context: HookContext) -> Library:
    """The table of sb3-contrib."""
    return Library(
        title="sb3-contrib",
        distribution="sb3_contrib",
        targets=(
            every(
                f"{_MASKABLE}.policies",
                "MaskableActorCriticPolicy.evaluate_actions",
                "learn.forward",
                context.updates.after_forward,
            ),
            every(
                f"{_MASKABLE}.policies", "MaskableActorCriticPolicy.predict_values", "policy.act"
            ),
            # Reads the environment's action masks.
            once("sb3_contrib.ppo_mask.ppo_mask", "get_action_masks", "env.step"),
            Target("sb3_contrib.ppo_mask.ppo_mask", "obs_as_tensor", "transfer"),
            Target("sb3_contrib.ppo_recurrent.ppo_recurrent", "obs_as_tensor", "transfer"),
            Target("sb3_contrib.qrdqn.qrdqn", "polyak_update", "learn.target"),
            Target("sb3_contrib.tqc.tqc", "polyak_update", "learn.target"),
            once("sb3_contrib.ppo_mask.ppo_mask", "explained_variance", "log"),
            Target(
                "sb3_contrib.ppo_recurrent.ppo_recurrent",
                "explained_variance",
                "log",
                outermost=True,
            ),
            once("sb3_contrib.trpo.trpo", "explained_variance", "log"),
            once(f"{_MASKABLE}.callbacks", "evaluate_policy", "evaluate"),
            once(f"{_MASKABLE}.evaluation", "evaluate_policy", "evaluate"),
        ),
    )
