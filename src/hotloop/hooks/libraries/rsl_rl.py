"""rsl_rl: vector environments on a device, PPO and distillation, its runners.

Written from the library's sources and not run here, so every target is optional. Its environments
run on the device: nothing that a step returns is inspected, only its length.
"""

from __future__ import annotations

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, every
from hotloop.hooks.protocols import Foreign, Note


def _target(module: str, name: str, phase: str, after: Note | None = None) -> Target:
    return every(f"rsl_rl.{module}", name, phase, after, optional=True)


_PPO = "algorithms.ppo"
_DISTILLATION = "algorithms.distillation"
_RUNNER = "runners.on_policy_runner"


def library(context: HookContext) -> Library:
    """The table of rsl_rl."""

    def after_step(result: Foreign, *_: object, **__: object) -> None:
        # (observations, rewards, dones, extras): one reward for each environment.
        envs = len(result[1])
        context.core.count(schema.ENV_STEPS, envs)
        context.order.stepped(envs)

    return Library(
        "rsl_rl",
        "rsl-rl-lib",
        targets=(
            _target("env.vec_env", "VecEnv.step", "env.step", after_step),
            _target("env.vec_env", "VecEnv.reset", "env.reset"),
            _target(_PPO, "PPO.act", "policy.act"),
            _target(_PPO, "PPO.process_env_step", "buffer.add"),
            _target(_PPO, "PPO.compute_returns", "advantage"),
            _target(_PPO, "PPO.update", "learn"),
            _target(_DISTILLATION, "Distillation.act", "policy.act"),
            _target(_DISTILLATION, "Distillation.process_env_step", "buffer.add"),
            _target(_DISTILLATION, "Distillation.update", "learn"),
            _target("utils.logger", "Logger.log", "log"),
            _target(_RUNNER, "OnPolicyRunner.log", "log"),
            _target(_RUNNER, "OnPolicyRunner.save", "checkpoint"),
        ),
    )
