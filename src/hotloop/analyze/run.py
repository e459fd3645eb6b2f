"""The run as a whole: its duration, counters and rates."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.capture import schema
from hotloop.capture.schema import End, Header


class Counted:
    """How often something was counted in the run."""

    def __init__(self, counter: str) -> None:
        self._counter = counter

    def __get__(self, run: Run, owner: type) -> int:
        return int(run.counters.get(self._counter, 0))


class PerSecond:
    """The same per second of the loop."""

    def __init__(self, counter: str) -> None:
        self._counter = counter

    def __get__(self, run: Run, owner: type) -> float:
        return run.share(run.counters.get(self._counter, 0.0))


@dataclass
class Run:
    """The run as a whole."""

    command: list[str]
    wall_s: float
    startup_s: float
    loop_s: float
    after_s: float
    counters: dict[str, float]
    device: str
    processes: int
    header: Header
    end: End | None
    memory_peak_mb: float | None
    cpu_share: float | None
    #: One-time work inside the loop, which no rate includes.
    once_s: float = 0.0

    @property
    def steady_s(self) -> float:
        """The loop without its one-time work."""
        return max(self.loop_s - self.once_s, 0.0)

    @property
    def failed(self) -> bool:
        """Whether the program ended by itself, with an error."""
        return bool(self.end and self.end.code)

    def share(self, seconds: float) -> float:
        """These seconds as a share of the loop."""
        return seconds / self.loop_s if self.loop_s > 0 else 0.0

    def per_step(self, seconds: float) -> float | None:
        """These seconds per environment step; None if no step was counted."""
        return seconds / self.env_steps if self.env_steps else None

    env_steps = Counted(schema.ENV_STEPS)
    agent_steps = Counted(schema.AGENT_STEPS)
    episodes = Counted(schema.EPISODES)
    gradient_steps = Counted(schema.GRADIENT_STEPS)
    samples = Counted(schema.SAMPLES)
    searches = Counted(schema.SEARCHES)
    simulations = Counted(schema.SIMULATIONS)
    games = Counted(schema.GAMES)
    generations = Counted(schema.GENERATIONS)

    @property
    def steps_per_s(self) -> float:
        return self.env_steps / self.steady_s if self.steady_s > 0 else 0.0

    @property
    def agent_steps_per_s(self) -> float:
        return self.agent_steps / self.steady_s if self.steady_s > 0 else 0.0

    gradient_steps_per_s = PerSecond(schema.GRADIENT_STEPS)
    samples_per_s = PerSecond(schema.SAMPLES)
    searches_per_s = PerSecond(schema.SEARCHES)
    simulations_per_s = PerSecond(schema.SIMULATIONS)
    games_per_s = PerSecond(schema.GAMES)
    generations_per_s = PerSecond(schema.GENERATIONS)
    leaves_per_s = PerSecond(schema.SEARCH_LEAVES)

    @property
    def steps_per_episode(self) -> float | None:
        episodes = self.counters.get(schema.EPISODES, 0)
        return self.env_steps / episodes if episodes else None

    @property
    def updates_per_step(self) -> float | None:
        if not self.env_steps or schema.GRADIENT_STEPS not in self.counters:
            return None
        return self.counters[schema.GRADIENT_STEPS] / self.env_steps

    @property
    def batch_size(self) -> float | None:
        updates = self.counters.get(schema.GRADIENT_STEPS, 0)
        rows = self.counters.get(schema.SAMPLES, 0)
        return rows / updates if updates and rows else None

    @property
    def sequences_per_batch(self) -> float | None:
        """Sequences of a batch, if its rows are those of sequences."""
        updates = self.counters.get(schema.GRADIENT_STEPS, 0)
        sequences = self.counters.get(schema.SEQUENCES, 0)
        return sequences / updates if updates and sequences else None

    @property
    def sequence_length(self) -> float | None:
        """Steps of one of these sequences."""
        sequences = self.counters.get(schema.SEQUENCES, 0)
        return self.counters.get(schema.SAMPLES, 0) / sequences if sequences else None
