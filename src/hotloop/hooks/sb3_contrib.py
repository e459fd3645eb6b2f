"""sb3-contrib: its algorithms override methods that the table of Stable-Baselines3 follows.

What is left are the policies with a base class of their own, and names bound at import.
"""

from __future__ import annotations

from hotloop.hooks.batch import batch
from hotloop.hooks.sb3 import everywhere
from hotloop.hooks.table import Library, Place

_MASKABLE = "sb3_contrib.common.maskable"

LIBRARY = Library(
    title="sb3-contrib",
    distribution="sb3_contrib",
    places=(
        everywhere(
            f"{_MASKABLE}.policies",
            "MaskableActorCriticPolicy.evaluate_actions",
            "learn.forward",
            batch.after_forward,
        ),
        everywhere(
            f"{_MASKABLE}.policies", "MaskableActorCriticPolicy.predict_values", "policy.act"
        ),
        # The environment says which actions it allows.
        Place("sb3_contrib.ppo_mask.ppo_mask", "get_action_masks", "env.step", outermost=True),
        Place("sb3_contrib.ppo_mask.ppo_mask", "obs_as_tensor", "transfer"),
        Place("sb3_contrib.ppo_recurrent.ppo_recurrent", "obs_as_tensor", "transfer"),
        Place("sb3_contrib.qrdqn.qrdqn", "polyak_update", "learn.target"),
        Place("sb3_contrib.tqc.tqc", "polyak_update", "learn.target"),
        Place("sb3_contrib.ppo_mask.ppo_mask", "explained_variance", "log", outermost=True),
        Place(
            "sb3_contrib.ppo_recurrent.ppo_recurrent", "explained_variance", "log", outermost=True
        ),
        Place("sb3_contrib.trpo.trpo", "explained_variance", "log", outermost=True),
        Place(f"{_MASKABLE}.callbacks", "evaluate_policy", "evaluate", outermost=True),
        Place(f"{_MASKABLE}.evaluation", "evaluate_policy", "evaluate", outermost=True),
    ),
)
