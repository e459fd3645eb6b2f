"""skrl: its environment wrappers, agents and memories, for torch and for JAX.

Written from the library's sources and not run here, so every target is optional.
"""

from __future__ import annotations

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, every
from hotloop.hooks.protocols import Foreign, Note


def _target(module: str, name: str, phase: str, after: Note | None = None) -> Target:
    return every(f"skrl.{module}", name, phase, after, optional=True)


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
        _target(agent, "Agent.write_tracking_data", "log"),
        _target(agent, "Agent.write_checkpoint", "checkpoint"),
    )


def library(context: HookContext) -> Library:
    """The table of skrl."""

    def after_step(result: object, environment: Foreign, *_: object, **__: object) -> None:
        # The result may be on a device and is not inspected.
        envs = int(getattr(environment, "num_envs", 1) or 1)
        context.core.count(schema.ENV_STEPS, envs)
        context.order.stepped(envs)

    targets = (*_targets("torch", after_step), *_targets("jax", after_step))
    return Library("skrl", "skrl", targets)
