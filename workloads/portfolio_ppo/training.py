"""Sliding-window training with Stable-Baselines3: learn on one stretch of days, trade the next."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import pandas as pd
import torch
from environment import PortfolioEnv
from metrics import measure
from options import EPISODE_DAYS, ROLLOUT_STEPS, TESTING_DAYS, TRAINING_DAYS, Options
from preprocessing import MarketData, load_data, sliding_windows
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import BaseCallback
from stable_baselines3.common.utils import set_random_seed
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecEnv, VecMonitor

Say = Callable[[str], None]
Strategy = Callable[[np.ndarray], np.ndarray]

GAMMA = 0.9  # a position pays within days, so there is little to gain from looking further ahead
GAE_LAMBDA = 0.9
LEARNING_RATE = 1e-3
FIRST_LOG_STD = -0.5


class DeviceNotAvailableError(ValueError):
    """The device that was asked for is not in this machine."""


class Progress(BaseCallback):
    """Prints one line for each rollout."""

    def __init__(self, say: Say, timesteps: int) -> None:
        super().__init__()
        self._say = say
        self._timesteps = timesteps
        self._started = time.perf_counter()

    def _on_step(self) -> bool:
        return True

    def _on_rollout_end(self) -> None:
        rewards = [episode["r"] for episode in self.model.ep_info_buffer or ()]
        reward = statistics.mean(rewards) if rewards else float("nan")
        speed = self.num_timesteps / (time.perf_counter() - self._started)
        self._say(
            f"step {self.num_timesteps:6d}/{self._timesteps}  {speed:5.0f} steps/s"
            f"  episode return {reward:6.2f}"
        )


def choose_device(wanted: str) -> str:
    """The device to train on; `auto` takes CUDA, then Apple's MPS, then the CPU."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if wanted == "auto":
        return next(device for device, usable in available.items() if usable)
    if not available[wanted]:
        raise DeviceNotAvailableError(f"this machine's PyTorch cannot use {wanted!r}")
    return wanted


def train(options: Options, say: Say = print) -> None:
    """Train one agent over all windows, and sum up what it earned on days it had not seen."""
    device = choose_device(options.device)
    torch.set_num_threads(options.threads)
    set_random_seed(options.seed)
    data = load_data(options.data_dir, options.data, options.days, options.seed)
    windows = list(sliding_windows(data, options.windows, TRAINING_DAYS, TESTING_DAYS))
    say(
        f"{len(data)} days of {data.returns.shape[1]} assets, {options.windows} windows of "
        f"{TRAINING_DAYS} days, {options.envs} environments ({options.vec}), device {device}"
    )
    progress = Progress(say, options.timesteps)
    model: PPO | None = None
    traded: list[list[pd.DataFrame]] = []
    for number, window in enumerate(windows, start=1):
        environments = make_environments(window.training, options)
        try:
            if model is None:
                model = make_model(environments, options, device)
            else:
                model.set_env(environments)
            # Up to the window's share of the whole, so that rounding up to whole rollouts in one
            # window is made good in the next.
            goal = options.timesteps * number // options.windows
            remaining = max(goal - model.num_timesteps, 1)
            model.learn(remaining, callback=progress, reset_num_timesteps=False)
        finally:
            environments.close()
        traded.append(trade(window.testing, _trained(model)))
        say(f"window {number}/{options.windows}  next days: {measure(pd.concat(traded[-1]))}")
    _compare(traded, [window.testing for window in windows], options.seed, say)


def make_environments(data: MarketData, options: Options) -> VecEnv:
    """Several copies of the environment, in this process or each in one of its own."""
    make = partial(PortfolioEnv, data, EPISODE_DAYS)
    kind = SubprocVecEnv if options.vec == "subproc" else DummyVecEnv
    environments = VecMonitor(kind([make] * options.envs))
    environments.seed(options.seed)
    return environments


def make_model(environments: VecEnv, options: Options, device: str) -> PPO:
    """The agent."""
    return PPO(
        "MlpPolicy",
        environments,
        n_steps=ROLLOUT_STEPS // options.envs,
        batch_size=options.batch_size,
        gamma=GAMMA,
        gae_lambda=GAE_LAMBDA,
        learning_rate=LEARNING_RATE,
        policy_kwargs={"net_arch": list(options.hidden), "log_std_init": FIRST_LOG_STD},
        device=device,
        seed=options.seed,
    )


def trade(data: MarketData, strategy: Strategy) -> list[pd.DataFrame]:
    """Go through the days once, in episodes as long as in training; a table for each."""
    episodes = []
    for first in range(0, len(data) - EPISODE_DAYS, EPISODE_DAYS):
        days = data.between(first, first + EPISODE_DAYS + 1)
        environment = PortfolioEnv(days, random_start=False)
        observation, _ = environment.reset()
        done, lived = False, []
        while not done:
            observation, _, _, done, info = environment.step(strategy(observation))
            lived.append(info)
        episodes.append(pd.DataFrame(lived))
    return episodes


def _compare(
    traded: list[list[pd.DataFrame]], unseen: list[MarketData], seed: int, say: Say
) -> None:
    assets = unseen[0].returns.shape[1]
    rng = np.random.default_rng(seed)
    by_chance = [trade(days, lambda _: rng.uniform(-1.0, 1.0, assets + 1)) for days in unseen]
    evenly = [trade(days, lambda _: np.zeros(assets + 1)) for days in unseen]
    say("on days that were not trained on:")
    for name, windows in (("trained", traded), ("random", by_chance), ("even", evenly)):
        episodes = [episode for window in windows for episode in window]
        say(f"{name:8s}{measure(pd.concat(episodes))}")
        say(f"{name:8s}{_mean_episode(episodes)}")


def _mean_episode(episodes: list[pd.DataFrame]) -> str:
    returns = [100.0 * measure(episode).total_return for episode in episodes]
    error = statistics.stdev(returns) / len(returns) ** 0.5 if len(returns) > 1 else 0.0
    return (
        f"episode return {statistics.mean(returns):+.2f}% +/- {error:.2f}% "
        f"({len(returns)} episodes of {EPISODE_DAYS} days)"
    )


def _trained(model: PPO) -> Strategy:
    return lambda observation: model.predict(observation, deterministic=True)[0]
