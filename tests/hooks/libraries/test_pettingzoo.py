"""PettingZoo: steps and episodes of environments with many agents, however they are wrapped."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hooks_come_off import check_hooks_come_off

pytest.importorskip("pettingzoo")

PROGRAMS = Path(__file__).parent.parent / "library_programs"

Profile = Callable[..., Any]

#: Half of the agents reach their goal in the last step, and time is up for the others.
GAME = """
import numpy as np
from gymnasium.spaces import Box, Discrete
from pettingzoo import ParallelEnv
from pettingzoo.utils import BaseParallelWrapper, parallel_to_aec

class Game(ParallelEnv):
    metadata = {"name": "game", "is_parallelizable": True}
    possible_agents = ["a", "b", "c", "d"]
    observation_spaces = dict.fromkeys(possible_agents, Box(0, 1, (2,)))
    action_spaces = dict.fromkeys(possible_agents, Discrete(2))
    def observation_space(self, agent): return self.observation_spaces[agent]
    def action_space(self, agent): return self.action_spaces[agent]
    def reset(self, seed=None, options=None):
        self.agents, self.turn = list(self.possible_agents), 0
        return self._each(np.zeros(2, np.float32)), self._each({})
    def step(self, actions):
        self.turn += 1
        over = self.turn == 10
        result = (self._each(np.zeros(2, np.float32)), self._each(1.0),
                  {agent: over and agent in "ab" for agent in self.agents},
                  {agent: over and agent in "cd" for agent in self.agents}, self._each({}))
        self.agents = [] if over else self.agents
        return result
    def _each(self, value): return dict.fromkeys(self.agents, value)
"""

PARALLEL = (
    GAME
    + """
env = BaseParallelWrapper(BaseParallelWrapper(Game()))
for _ in range(3):
    env.reset()
    while env.agents:
        env.step({agent: 0 for agent in env.agents})
"""
)

TURNS = (
    GAME
    + """
env = parallel_to_aec(Game())
for _ in range(3):
    env.reset()
    for agent in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else 0)
"""
)


def test_agents_that_act_together_make_one_step(profile: Profile) -> None:
    run = profile(PARALLEL)
    assert run.counter("env_steps") == 30
    assert run.counter("agent_steps") == 30 * 4
    assert run.counter("episodes") == 3
    assert run.calls("env.step") == 30
    assert [path for path in run.paths if path.startswith("env.step/")] == []


def test_each_turn_is_a_step(profile: Profile) -> None:
    run = profile(TURNS)
    assert run.counter("env_steps") == 3 * 10 * 4
    assert run.counter("episodes") == 3
    training = run.report["returns"]["training"]
    assert (training["episodes"], training["mean"]) == (3, 40.0)
    assert run.calls("env.observe") >= 3 * 10 * 4


def test_hooks_come_off_completely(profile: Profile) -> None:
    check_hooks_come_off(profile, "pettingzoo", "pettingzoo", "pettingzoo")
