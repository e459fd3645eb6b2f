"""rsl_rl: vectorised environments on a device, PPO and distillation, its runners.

Written from the library's sources and not run here, so every place is optional. Its environments
live on the device: nothing of what a step returns is looked at, only how much there is.
"""

from __future__ import annotations

from typing import Any

from hotloop import get_profiler, words
from hotloop.hooks.plain_loop import flow
from hotloop.hooks.table import Library, Note, Place

_profiler = get_profiler()


def _after_step(result: Any, *_: Any, **__: Any) -> None:
    """(observations, rewards, dones, extras): one reward for each environment."""
    envs = len(result[1])
    _profiler.count(words.ENV_STEPS, envs)
    flow.stepped(envs)


def _every(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    return Place(
        f"rsl_rl.{module}", name, phase, after, outermost=True, overrides=True, optional=True
    )


_PPO = "algorithms.ppo"
_DISTILLATION = "algorithms.distillation"
_RUNNER = "runners.on_policy_runner"

LIBRARY = Library(
    "rsl_rl",
    "rsl-rl-lib",
    places=(
        _every("env.vec_env", "VecEnv.step", "env.step", _after_step),
        _every("env.vec_env", "VecEnv.reset", "env.reset"),
        _every(_PPO, "PPO.act", "policy.act"),
        _every(_PPO, "PPO.process_env_step", "buffer.add"),
        _every(_PPO, "PPO.compute_returns", "advantage"),
        _every(_PPO, "PPO.update", "learn"),
        _every(_DISTILLATION, "Distillation.act", "policy.act"),
        _every(_DISTILLATION, "Distillation.process_env_step", "buffer.add"),
        _every(_DISTILLATION, "Distillation.update", "learn"),
        _every("utils.logger", "Logger.log", "log"),
        _every(_RUNNER, "OnPolicyRunner.log", "log"),
        _every(_RUNNER, "OnPolicyRunner.save", "checkpoint"),
    ),
)
