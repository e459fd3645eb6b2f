"""skrl: its environment wrappers, agents and memories, for torch and for JAX.

Names differ between versions, so every target is optional. The part for JAX was written from the
library's sources and not run.
"""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.step_results import StepResult, ends_of, is_on_host, rewards_of
from hotloop.hooks.library import Library, Target, every, once
from hotloop.hooks.protocols import Foreign, Note


def _target(module: str, name: str, phase: str, after: Note | None = None) -> Target:
    return every(f"skrl.{module}", name, phase, after, optional=True)


#: Agents with a function of their own that computes advantages, and their variants.
_ADVANTAGES = ("a2c.a2c", "a2c.a2c_rnn", "amp.amp", "ppo.ppo", "ppo.ppo_rnn", "rpo.rpo",
               "rpo.rpo_rnn", "trpo.trpo", "trpo.trpo_rnn")  # fmt: skip


def _read(result: Foreign) -> StepResult:
    """A step's result: a column for each of its values, with a row per environment."""
    _, reward, *ends = result[:4]
    envs = int(reward.shape[0])
    if not is_on_host(reward):
        return StepResult(envs, None)
    flags = ends_of([end.reshape(-1) for end in ends], envs)
    ended = None if flags is None else sum(flags)
    return StepResult(envs, ended, rewards_of(reward.reshape(-1)), flags)


def _targets(framework: str, after_step: Note) -> tuple[Target, ...]:
    agent = f"agents.{framework}.base"
    memory = f"memories.{framework}.base"
    wrapper = f"envs.wrappers.{framework}.base"
    return (
        _target(wrapper, "Wrapper.step", "env.step", after_step),
        _target(wrapper, "Wrapper.reset", "env.reset"),
        _target(wrapper, "Wrapper.render", "env.render"),
        _target(agent, "Agent.act", "policy.act"),
        _target(agent, "Agent.record_transition", "buffer.add"),
        _target(memory, "Memory.add_samples", "buffer.add"),
        _target(memory, "Memory.sample", "buffer.sample"),
        _target(memory, "Memory.sample_all", "buffer.sample"),
        # The update was private before it became a part of the interface.
        _target(agent, "Agent._update", "learn"),
        _target(agent, "Agent.update", "learn"),
        *(
            once(f"skrl.agents.{framework}.{name}", "compute_gae", "advantage", optional=True)
            for name in _ADVANTAGES
        ),
        _target(agent, "Agent.write_tracking_data", "log"),
        _target(agent, "Agent.write_checkpoint", "checkpoint"),
    )


def library(context: HookContext) -> Library:
    """The table of skrl."""
    after_step = context.steps.of_program(_read)
    targets = (*_targets("torch", after_step), *_targets("jax", after_step))
    return Library("skrl", "skrl", targets)
