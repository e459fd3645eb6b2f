"""skrl: its environment wrappers, agents and memories, for torch and for JAX.

Written from the library's sources and not run here, so every place is optional.
"""

from __future__ import annotations

from typing import Any

from hotloop import get_profiler, words
from hotloop.hooks.plain_loop import flow
from hotloop.hooks.table import Library, Note, Place

_profiler = get_profiler()


def _after_step(result: Any, environment: Any, *_: Any, **__: Any) -> None:
    """A step of every environment; what it returned may be on a device and is left alone."""
    envs = int(getattr(environment, "num_envs", 1) or 1)
    _profiler.count(words.ENV_STEPS, envs)
    flow.stepped(envs)


def _every(module: str, name: str, phase: str, after: Note | None = None) -> Place:
    return Place(
        f"skrl.{module}", name, phase, after, outermost=True, overrides=True, optional=True
    )


def _places(framework: str) -> tuple[Place, ...]:
    agent = f"agents.{framework}.base"
    memory = f"memories.{framework}.base"
    wrapper = f"envs.wrappers.{framework}.base"
    return (
        _every(wrapper, "Wrapper.step", "env.step", _after_step),
        _every(wrapper, "Wrapper.reset", "env.reset"),
        _every(wrapper, "Wrapper.render", "env.render"),
        _every(agent, "Agent.act", "policy.act"),
        _every(agent, "Agent.record_transition", "buffer.add"),
        _every(memory, "Memory.add_samples", "buffer.add"),
        _every(memory, "Memory.sample", "buffer.sample"),
        _every(memory, "Memory.sample_all", "buffer.sample"),
        # The update was private before it became a part of the interface.
        _every(agent, "Agent._update", "learn"),
        _every(agent, "Agent.update", "learn"),
        _every(agent, "Agent.write_tracking_data", "log"),
        _every(agent, "Agent.write_checkpoint", "checkpoint"),
    )


LIBRARY = Library("skrl", "skrl", places=(*_places("torch"), *_places("jax")))
