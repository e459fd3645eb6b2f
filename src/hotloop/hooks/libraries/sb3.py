"""Stable-Baselines3.

Its algorithms share two loops (`collect_rollouts`, then `train`) and compute their losses inline in
`train`: `inference` deduces those from the forward and backward passes around them. Methods are
hooked in the base class and in every override, so the same targets cover the algorithms of
sb3-contrib and of the program itself.
"""

from __future__ import annotations

from hotloop.capture.schema import GRADIENT_STEPS, LEARNING_STARTS, SAMPLES
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, every, once
from hotloop.hooks.protocols import Foreign, Function


def only_overrides(module: str, name: str, phase: str) -> Target:
    """A method only in subclasses that have their own: the base's is shorter than a region."""
    return Target(module, name, phase, outermost=True, only_overrides=True)


_COMMON = "stable_baselines3.common"
_ON = f"{_COMMON}.on_policy_algorithm"
_OFF = f"{_COMMON}.off_policy_algorithm"
_BASE = f"{_COMMON}.base_class"
_VEC = f"{_COMMON}.vec_env.base_vec_env"
_POLICIES = f"{_COMMON}.policies"
_BUFFERS = f"{_COMMON}.buffers"


#: Phases that are not among the canonical ones, and their categories.
_CATEGORIES = {
    "callback": "Logging",  # the program's; most of them log, save or evaluate
    "learn.target": "Model",
    "module.train": "Model",
}


def library(context: HookContext) -> Library:
    """The table of Stable-Baselines3."""
    updates, gauges = context.updates, context.profiler.gauges

    def note_warm_up(_: object, algorithm: Foreign, *__: object, **___: object) -> None:
        gauges[LEARNING_STARTS] = float(algorithm.learning_starts)

    learn = context.core.region("learn")

    def note_compiled_updates(
        *_: object, gradient_steps: int = 0, batch_size: int = 0, **__: object
    ) -> None:
        context.core.count(GRADIENT_STEPS, gradient_steps)
        context.core.count(SAMPLES, gradient_steps * batch_size)

    def time_train(original: Function) -> Function:
        # SBX makes its updates in a compiled loop, in which nothing can be counted.
        compiled = str(getattr(original, "__module__", "")).startswith("sbx.")
        note = note_compiled_updates if compiled else None
        return learn.wrap(original, after=note, outermost=True, always=compiled)

    return Library(
        title="Stable-Baselines3",
        distribution="stable_baselines3",
        targets=(
            every(_ON, "OnPolicyAlgorithm.collect_rollouts", "collect", updates.after_rollout),
            every(_OFF, "OffPolicyAlgorithm.collect_rollouts", "collect", updates.after_rollout),
            every(_OFF, "OffPolicyAlgorithm._setup_learn", "startup", note_warm_up),
            every(_ON, "OnPolicyAlgorithm.train", "learn"),
            Target(_OFF, "OffPolicyAlgorithm.train", "learn", overrides=True, wrapper=time_train),
            # Vector environments: `step` is only in the base class, and resets what has ended.
            every(_VEC, "VecEnv.step", "env.step", context.steps.library_vector),
            every(_VEC, "VecEnv.reset", "env.reset", context.returns.was_reset),
            every(_VEC, "VecEnv.render", "env.render"),
            # Acting. `policy(observation)` itself is torch's `Module.__call__`; recurrent policies
            # are called by their `forward`.
            only_overrides(_POLICIES, "ActorCriticPolicy.forward", "policy.act"),
            every(_POLICIES, "ActorCriticPolicy.predict_values", "policy.act"),
            every(_POLICIES, "BasePolicy.predict", "policy.act"),
            every(_OFF, "OffPolicyAlgorithm._sample_action", "policy.act"),
            # Learning.
            every(
                _POLICIES,
                "ActorCriticPolicy.evaluate_actions",
                "learn.forward",
                updates.after_forward,
            ),
            every(
                "stable_baselines3.sac.policies",
                "Actor.action_log_prob",
                "learn.forward",
                updates.after_forward,
            ),
            # Names that were bound at import are hooked where they are used.
            Target(_ON, "obs_as_tensor", "transfer"),
            Target("stable_baselines3.dqn.dqn", "polyak_update", "learn.target"),
            Target("stable_baselines3.sac.sac", "polyak_update", "learn.target"),
            Target("stable_baselines3.td3.td3", "polyak_update", "learn.target"),
            # Every rollout and every update switches dropout and the like; overrides only call it.
            once(_POLICIES, "BaseModel.set_training_mode", "module.train"),
            # Storage.
            every(_BUFFERS, "BaseBuffer.add", "buffer.add"),
            every(_OFF, "OffPolicyAlgorithm._store_transition", "buffer.add"),
            every(_BUFFERS, "BaseBuffer.sample", "buffer.sample", updates.after_sample),
            once(_BUFFERS, "BaseBuffer.swap_and_flatten", "buffer.sample"),
            every(_BUFFERS, "RolloutBuffer._get_samples", "buffer.sample", updates.after_minibatch),
            every(_BUFFERS, "RolloutBuffer.compute_returns_and_advantage", "advantage"),
            # What is not training.
            every(f"{_COMMON}.callbacks", "BaseCallback.on_step", "callback"),
            only_overrides(f"{_COMMON}.logger", "Logger.record", "log"),
            only_overrides(f"{_COMMON}.logger", "Logger.record_mean", "log"),
            every(f"{_COMMON}.logger", "Logger.dump", "log"),
            once("stable_baselines3.ppo.ppo", "explained_variance", "log"),
            once("stable_baselines3.a2c.a2c", "explained_variance", "log"),
            every(_ON, "OnPolicyAlgorithm.dump_logs", "log"),
            every(_OFF, "OffPolicyAlgorithm.dump_logs", "log"),
            every(_BASE, "BaseAlgorithm.save", "checkpoint"),
            every(_OFF, "OffPolicyAlgorithm.save_replay_buffer", "checkpoint"),
            once(f"{_COMMON}.evaluation", "evaluate_policy", "evaluate"),
            once(f"{_COMMON}.callbacks", "evaluate_policy", "evaluate"),
        ),
        categories=_CATEGORIES,
    )
