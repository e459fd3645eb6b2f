"""Notes after the step of an environment, or of a vector of environments.

Every table of environments has one of these for its `env.step`. Because steps may take only a few
microseconds, the native module (`measure/native/steps.c`) counts steps, ended episodes and their
returns and records the event. It calls Python only for results that it cannot read and, from time
to time, `inspect_*`. Without it, a note only counts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hotloop.capture import schema
from hotloop.hooks.inference.step_results import StepResult, ends_of, rewards_of
from hotloop.hooks.protocols import Foreign, Note

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext

#: result -> its contents; None if it is not the result of a step.
Reader = Callable[[Foreign], "StepResult | None"]
#: (result, environment, environments stepped, episodes ended)
Inspect = Callable[[object, object, int, int], None]

#: Steps inside these are not part of the training: evaluations, and callbacks of a library.
NOT_TRAINING = ("evaluate", "callback")

#: Where a vector's result has one entry for each environment.
REWARDS = 1
#: Instead of that: the step of one environment, and one or a vector as the result says.
ONE, EITHER = -1, -2


def read_one(result: Foreign) -> StepResult:
    """(observation, reward, terminated, truncated, info), or four of them with `done`."""
    ends = ends_of(list(result[2:4] if len(result) == 5 else result[2:3]), 1)
    return StepResult(1, None if ends is None else int(ends[0]), rewards_of(result[1]), ends)


def read_vector(result: Foreign) -> StepResult:
    """The same of a vector of environments."""
    cut = result[3] if len(result) == 5 else None
    ends = [result[2]] if cut is None else [result[2], cut]
    envs = len(result[REWARDS])
    ended = count_ended(result[2], cut)
    return StepResult(envs, ended, rewards_of(result[REWARDS]), ends_of(ends, envs))


def count_ended(terminated: Foreign, truncated: Foreign) -> int:
    """How many of a vector's episodes have ended.

    Flags are read as bytes, twenty times faster than NumPy's `any` for the few that there are. An
    array of another kind may live on a device; reading it would wait for that.
    """
    if not hasattr(terminated, "tobytes"):
        return 0
    ended = int(terminated.tobytes().count(1))
    if truncated is not None:
        cut = int(truncated.tobytes().count(1))
        if ended and cut:
            return int((terminated | truncated).sum())
        ended += cut
    return ended


class StepNotes:
    """The notes after `env.step`, by what was stepped."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self.one = self._note(read_one, ONE, self._inspect_one)
        self.vector = self._note(read_vector, REWARDS, self._inspect_vector)
        #: A vector environment inside a library's rollout: its table records the events.
        self.library_vector = self._note(read_vector, REWARDS, self._inspect_vector, is_event=False)

    def of_program(self, read: Reader) -> Note:
        """The note after a `step` that the program wrote itself."""
        return self._note(read, EITHER, self._inspect_either)

    def _note(self, read: Reader, kind: int, inspect: Inspect, is_event: bool = True) -> Note:
        """The note of one kind of step; with `is_event` it joins the order of events."""
        core, flow = self._context.core, self._context.flow

        def read_counting(result: Foreign) -> StepResult | None:
            outcome = read(result)
            if outcome and outcome.agents and not core.is_open(*NOT_TRAINING):
                core.count(schema.AGENT_STEPS, outcome.agents)
            return outcome

        if flow.native is not None:
            order = flow.order if is_event else None
            returns = self._context.returns.native
            note: Note = flow.native.Steps(core, order, returns, read_counting, inspect, kind)
            return note

        def stepped(result: object, env: object = None, *_: object, **__: object) -> None:
            outcome = None if core.is_open(*NOT_TRAINING) else read_counting(result)
            if outcome is None:
                return
            core.count(schema.ENV_STEPS, outcome.envs)
            if outcome.ended:
                core.count(schema.EPISODES, outcome.ended)
            inspect(result, env, outcome.envs, outcome.ended or 0)
            if is_event:
                flow.stepped(outcome.envs)

        return stepped

    def _inspect_one(self, result: object, env: object, envs: int, ended: int) -> None:
        """Telemetry of one environment that was stepped."""
        environments = self._context.environments
        if ended:
            environments.growth.ended(env)
        environments.turns.stepped(env)
        self._context.tabular.look()

    def _inspect_vector(self, result: object, env: object, envs: int, ended: int) -> None:
        """Telemetry of a vector of environments that was stepped."""
        if isinstance(result, tuple):
            self._context.environments.vector_stepped(result, envs)

    def _inspect_either(self, result: object, env: object, envs: int, ended: int) -> None:
        """Telemetry of either, as the result says."""
        (self._inspect_one if envs == 1 else self._inspect_vector)(result, env, envs, ended)
