"""Gymnasium's vectors with every way to reset, in this process and in workers."""

# needs: gymnasium
import gymnasium as gym
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv


def make():
    return gym.make("CartPole-v1", max_episode_steps=5)


if __name__ == "__main__":
    for vector in (SyncVectorEnv, AsyncVectorEnv):
        for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
            environments = vector([make] * 2, autoreset_mode=mode)
            environments.action_space.seed(0)
            environments.reset(seed=3)
            total = 0.0
            for _ in range(12):
                seen, *_, info = environments.step(environments.action_space.sample())
                total += float(seen.sum())
            print(vector.__name__, mode, total, sorted(info), environments.spec is None)
            environments.close()
    environments = gym.make_vec("CartPole-v1", 2, vectorization_mode="async")
    environments.reset(seed=0)
    try:
        environments.step([0, 7])
    except Exception as error:
        print(type(error).__name__, error)
    environments.close()
