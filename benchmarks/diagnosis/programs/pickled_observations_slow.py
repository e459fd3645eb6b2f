"""Large observations that are pickled through pipes."""

import gymnasium as gym
import numpy as np
from _training import a2c


class Camera(gym.Env):
    def __init__(self) -> None:
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (512, 512), np.float32)
        self.action_space = gym.spaces.Discrete(3)
        self.picture = np.zeros((512, 512), np.float32)
        self.t = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t = 0
        return self.picture, {}

    def step(self, action):
        self.t += 1
        self.picture[:, self.t % 512] = float(action)
        return self.picture, float(action), False, self.t >= 100, {}


class Pooled(gym.vector.VectorWrapper):
    """What the network sees: block means."""

    def __init__(self, envs) -> None:
        super().__init__(envs)
        self.single_observation_space = gym.spaces.Box(-np.inf, np.inf, (64,), np.float32)

    def reset(self, **options):
        obs, info = self.env.reset(**options)
        return self.pool(obs), info

    def step(self, actions):
        obs, *rest = self.env.step(actions)
        return self.pool(obs), *rest

    def pool(self, obs):
        return obs[:, ::64, ::64].reshape(len(obs), 64).copy()


def main(shared: bool = False) -> None:
    envs = gym.vector.AsyncVectorEnv([Camera] * 2, shared_memory=shared, copy=False)
    a2c(Pooled(envs), 60, 32)
    envs.close()


if __name__ == "__main__":
    main()
