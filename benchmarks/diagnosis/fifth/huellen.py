# plants: framework-overhead @ env = wrap(
"""Tile-coding SARSA on CartPole inside ten gymnasium wrappers that it does not need."""

import sys
import time

import gymnasium as gym
import numpy as np
from gymnasium import wrappers as w


def wrap(env):
    env = w.RecordEpisodeStatistics(env)
    env = w.NormalizeObservation(env)
    env = w.NormalizeReward(env)
    env = w.ClipReward(env, -1, 1)
    env = w.TransformObservation(env, lambda o: np.clip(o, -5, 5), env.observation_space)
    env = w.FrameStackObservation(env, 2)
    env = w.FlattenObservation(env)
    env = w.DtypeObservation(env, np.float32)
    return w.TransformReward(env, lambda r: 0.5 * r)


def tiles(obs, scale):
    """Indices of eight shifted tilings over four variables."""
    x = ((obs[:4] / scale).clip(-0.99, 0.99) + 1) * 3.5
    return [hash((g, *np.floor(x + g / 8).astype(int).tolist())) % 4096 for g in range(8)]


def main():
    env = gym.make("CartPole-v1", disable_env_checker=True)
    scale = np.array([2.4, 3.0, 0.21, 3.0])
    if "--fixed" not in sys.argv:
        env = wrap(env)
        scale = np.array([2.0, 2.0, 2.0, 2.0])
    weights = np.zeros((2, 4096))
    rng = np.random.default_rng(0)

    def choose(active):
        if rng.random() < 0.05:
            return int(rng.integers(2))
        return int(weights[0, active].sum() < weights[1, active].sum())

    obs, _ = env.reset(seed=0)
    active = tiles(obs, scale)
    action, steps, start = choose(active), 0, time.perf_counter()
    while time.perf_counter() - start < 7:
        obs, reward, ended, cut, _ = env.step(action)
        steps += 1
        following = tiles(obs, scale)
        choice = choose(following)
        goal = reward if ended else reward + 0.99 * weights[choice, following].sum()
        weights[action, active] += 0.05 * (goal - weights[action, active].sum())
        active, action = following, choice
        if ended or cut:
            active = tiles(env.reset()[0], scale)
            action = choose(active)
    print(f"{steps / (time.perf_counter() - start):.1f} steps/s")


main()
