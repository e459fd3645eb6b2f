"""PettingZoo: environments of many agents, which act together or in turns.

One step of a parallel environment is one environment step, however many agents act in it; their
steps are counted separately. In a turn-based environment, each action is a step, but removing an
agent that is done (`step(None)`) is not. An episode ends with the last agent. Wrappers and
conversions between the two kinds call the environment inside them, and only the outermost call
counts.
"""

from __future__ import annotations

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.step_results import StepResult, agents_of, rewards_of
from hotloop.hooks.inference.steps import NOT_TRAINING
from hotloop.hooks.library import Library, every
from hotloop.hooks.protocols import Foreign

_MODULE = "pettingzoo.utils.env"


def _read_parallel(result: Foreign) -> StepResult:
    """(observations, rewards, terminations, truncations, infos), each with an entry per agent."""
    _, rewards, terminated, truncated, _ = result
    ended = bool(terminated) and all(end or truncated[agent] for agent, end in terminated.items())
    return StepResult(1, int(ended), rewards_of(rewards), [ended], agents_of(rewards))


def library(context: HookContext) -> Library:
    """The table of PettingZoo."""

    def after_turn(result: object, env: Foreign, action: object = None, *_: object) -> None:
        if action is None or context.core.is_open(*NOT_TRAINING):
            return
        context.core.count(schema.ENV_STEPS, 1)
        over, cut = env.terminations, env.truncations
        ended = all(over[agent] or cut[agent] for agent in env.agents)
        if ended:
            context.core.count(schema.EPISODES, 1)
        context.returns.step(env, 1, [float(sum(env.rewards.values()))], [ended])
        context.order.stepped(1)

    after_step = context.steps.of_program(_read_parallel)
    was_reset = context.environment_was_reset
    return Library(
        title="PettingZoo",
        distribution="pettingzoo",
        categories={"env.observe": "Environment"},
        targets=(
            every(_MODULE, "ParallelEnv.step", "env.step", after_step),
            every(_MODULE, "ParallelEnv.reset", "env.reset", was_reset),
            every(_MODULE, "ParallelEnv.render", "env.render"),
            every(_MODULE, "AECEnv.step", "env.step", after_turn),
            every(_MODULE, "AECEnv.reset", "env.reset", was_reset),
            every(_MODULE, "AECEnv.render", "env.render"),
            every(_MODULE, "AECEnv.last", "env.observe"),
        ),
    )
