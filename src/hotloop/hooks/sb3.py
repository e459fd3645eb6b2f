"""Stable-Baselines3.

Its algorithms share two loops (`collect_rollouts`, then `train`) and write the arithmetic of their
losses inline in `train`: `plain_loop` infers that from the forward and backward passes around it.
Methods are hooked in the base class and in every override, so the algorithms of sb3-contrib and of
the program itself are covered by the same rows.
"""

from __future__ import annotations

from hotloop import get_profiler
from hotloop.hooks.batch import batch
from hotloop.hooks.steps import library_vector_stepped
from hotloop.hooks.table import Library, Note, Place

_profiler = get_profiler()


# -- the rows --


def everywhere(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    """A method and all its overrides; one that calls its parent's is one call."""
    return Place(module, name, phase, after=after, outermost=True, overrides=True)


def only_overrides(module: str, name: str, phase: str) -> Place:
    """A method where a subclass has its own: the base's takes less than a region would."""
    return Place(module, name, phase, outermost=True, only_overrides=True)


_COMMON = "stable_baselines3.common"
_ON = f"{_COMMON}.on_policy_algorithm"
_OFF = f"{_COMMON}.off_policy_algorithm"
_BASE = f"{_COMMON}.base_class"
_VEC = f"{_COMMON}.vec_env.base_vec_env"
_POLICIES = f"{_COMMON}.policies"
_BUFFERS = f"{_COMMON}.buffers"


#: Phases that are not among the canonical ones, and where they belong.
_CATEGORIES = {
    "callback": "Logging",  # the program's; most of them log, save or evaluate
    "learn.target": "Model",
    "module.train": "Model",
}


def _setup() -> None:
    _profiler.categories.update(_CATEGORIES)


LIBRARY = Library(
    title="Stable-Baselines3",
    distribution="stable_baselines3",
    places=(
        everywhere(_ON, "OnPolicyAlgorithm.collect_rollouts", "collect", batch.after_rollout),
        everywhere(_OFF, "OffPolicyAlgorithm.collect_rollouts", "collect", batch.after_rollout),
        everywhere(_ON, "OnPolicyAlgorithm.train", "learn"),
        everywhere(_OFF, "OffPolicyAlgorithm.train", "learn"),
        # Vectors: `step` is only in the base class, and resets what has ended by itself.
        everywhere(_VEC, "VecEnv.step", "env.step", library_vector_stepped),
        everywhere(_VEC, "VecEnv.reset", "env.reset"),
        everywhere(_VEC, "VecEnv.render", "env.render"),
        # Acting. `policy(observation)` itself is torch's `Module.__call__`; recurrent policies are
        # called by their `forward`.
        only_overrides(_POLICIES, "ActorCriticPolicy.forward", "policy.act"),
        everywhere(_POLICIES, "ActorCriticPolicy.predict_values", "policy.act"),
        everywhere(_POLICIES, "BasePolicy.predict", "policy.act"),
        everywhere(_OFF, "OffPolicyAlgorithm._sample_action", "policy.act"),
        # Learning.
        everywhere(
            _POLICIES, "ActorCriticPolicy.evaluate_actions", "learn.forward", batch.after_forward
        ),
        everywhere(
            "stable_baselines3.sac.policies",
            "Actor.action_log_prob",
            "learn.forward",
            batch.after_forward,
        ),
        # Names that were bound at import are hooked where they are used.
        Place(_ON, "obs_as_tensor", "transfer"),
        Place("stable_baselines3.dqn.dqn", "polyak_update", "learn.target"),
        Place("stable_baselines3.sac.sac", "polyak_update", "learn.target"),
        Place("stable_baselines3.td3.td3", "polyak_update", "learn.target"),
        # Every rollout and every update switches dropout and the like; overrides only pass it on.
        Place(_POLICIES, "BaseModel.set_training_mode", "module.train", outermost=True),
        # Storage.
        everywhere(_BUFFERS, "BaseBuffer.add", "buffer.add"),
        everywhere(_OFF, "OffPolicyAlgorithm._store_transition", "buffer.add"),
        everywhere(_BUFFERS, "BaseBuffer.sample", "buffer.sample", batch.after_sample),
        Place(_BUFFERS, "BaseBuffer.swap_and_flatten", "buffer.sample", outermost=True),
        everywhere(_BUFFERS, "RolloutBuffer._get_samples", "buffer.sample", batch.after_minibatch),
        everywhere(_BUFFERS, "RolloutBuffer.compute_returns_and_advantage", "advantage"),
        # What is not training.
        everywhere(f"{_COMMON}.callbacks", "BaseCallback.on_step", "callback"),
        only_overrides(f"{_COMMON}.logger", "Logger.record", "log"),
        only_overrides(f"{_COMMON}.logger", "Logger.record_mean", "log"),
        everywhere(f"{_COMMON}.logger", "Logger.dump", "log"),
        Place("stable_baselines3.ppo.ppo", "explained_variance", "log", outermost=True),
        Place("stable_baselines3.a2c.a2c", "explained_variance", "log", outermost=True),
        everywhere(_ON, "OnPolicyAlgorithm.dump_logs", "log"),
        everywhere(_OFF, "OffPolicyAlgorithm.dump_logs", "log"),
        everywhere(_BASE, "BaseAlgorithm.save", "checkpoint"),
        everywhere(_OFF, "OffPolicyAlgorithm.save_replay_buffer", "checkpoint"),
        Place(f"{_COMMON}.evaluation", "evaluate_policy", "evaluate", outermost=True),
        Place(f"{_COMMON}.callbacks", "evaluate_policy", "evaluate", outermost=True),
    ),
    setup=_setup,
)
