"""skrl: steps, episodes and updates of its own PPO, with environments in a vector."""

from __future__ import annotations

import pytest
from profiling import Profile

from hotloop.capture.reader import CaptureReader

pytest.importorskip("skrl")

TRAINING = """
import gymnasium, torch
from skrl.agents.torch.ppo import PPO, PPO_CFG
from skrl.envs.wrappers.torch import wrap_env
from skrl.memories.torch import RandomMemory
from skrl.models.torch import DeterministicMixin, CategoricalMixin, Model
from skrl.trainers.torch import SequentialTrainer

class Policy(CategoricalMixin, Model):
    def __init__(self, observations, actions):
        Model.__init__(self, observation_space=observations, action_space=actions, device="cpu")
        CategoricalMixin.__init__(self)
        self.net = torch.nn.Linear(4, 2)
    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {}

class Value(DeterministicMixin, Model):
    def __init__(self, observations, actions):
        Model.__init__(self, observation_space=observations, action_space=actions, device="cpu")
        DeterministicMixin.__init__(self)
        self.net = torch.nn.Linear(4, 1)
    def compute(self, inputs, role):
        return self.net(inputs["observations"]), {}

env = wrap_env(gymnasium.make_vec("CartPole-v1", num_envs=4))
spaces = env.observation_space, env.action_space
cfg = PPO_CFG(rollouts=16, learning_epochs=2, mini_batches=4)
cfg.experiment.write_interval = cfg.experiment.checkpoint_interval = 0
agent = PPO(
    models={"policy": Policy(*spaces), "value": Value(*spaces)},
    memory=RandomMemory(memory_size=16, num_envs=4, device="cpu"),
    cfg=cfg, observation_space=spaces[0], action_space=spaces[1], device="cpu",
)
ended = 0
step = env._env.step
def counted(actions):
    global ended
    result = step(actions)
    ended += int((result[2] | result[3]).sum())
    return result
env._env.step = counted
SequentialTrainer(cfg={"timesteps": 64, "headless": True, "disable_progressbar": True},
                  env=env, agents=agent).train()
print("ended", ended)
"""


@pytest.mark.framework
def test_ppo(profile: Profile) -> None:
    run = profile(TRAINING)
    assert run.counter("env_steps") == 4 * 64
    assert run.counter("episodes") == int(run.out.split()[-1]) > 0
    assert run.counter("gradient_steps") == 4 * 2 * 4
    assert run.calls("learn") == 4
    assert "learn/advantage" in run.paths
    assert run.capture is not None
    assert not CaptureReader(run.capture).read().main.notes.failures
