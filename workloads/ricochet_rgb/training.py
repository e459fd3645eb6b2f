"""Puts the parts together: boards, environments, policy, PPO, and the profiler if asked for."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial

import gymnasium as gym
import numpy as np
import torch
from board import Board, random_boards
from encoder import ConvLSTMEncoder
from environment import LONGEST_EPISODE, RicochetEnv
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from options import Options
from policy import RecurrentPolicy
from ppo import Collector, Learner

from hotloop import get_profiler, profile

Say = Callable[[str], None]
ROLLOUTS_BETWEEN_LINES = 8


class DeviceNotAvailableError(ValueError):
    """The device that was asked for is not in this machine."""


def train(options: Options, say: Say = print) -> RecurrentPolicy:
    """Train a policy, and compare it with chance at the end."""
    profiler = get_profiler()
    # A profiler that is already on was switched on elsewhere; leave it on.
    switched_on_here = options.enable_profiling and not profiler.enabled
    if switched_on_here:
        profiler.enable()
    try:
        with profile("training_total", category="Training", track_memory=True):
            policy, boards = _train(options, say)
        if options.enable_profiling:
            _write_report(options, say)
    finally:
        if switched_on_here:
            profiler.disable()
    _compare(options, boards, policy, say)
    return policy


def _train(options: Options, say: Say) -> tuple[RecurrentPolicy, Sequence[Board]]:
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    boards = random_boards(options.board_size, options.walls, options.targets, options.seed)
    environments = make_environments(boards, options, options.envs)
    policy = make_policy(options)
    say(
        f"board of {options.board_size} x {options.board_size}, targets: {options.targets},"
        f" {options.robots} robots, {4 * options.robots} actions,"
        f" pictures of {options.pixels} x {options.pixels}, {options.envs} environments,"
        f" device {options.device}"
    )
    collector = Collector(environments, policy, options.seed)
    learner = Learner(policy, options.learning_rate, options.epochs, options.minibatches)
    try:
        _run(options, collector, learner, say)
    finally:
        environments.close()
    return policy, boards


def _run(options: Options, collector: Collector, learner: Learner, say: Say) -> None:
    per_rollout = options.envs * options.rollout_steps
    rollouts = -(-options.timesteps // per_rollout)
    started = time.perf_counter()
    for number in range(1, rollouts + 1):
        learner.update(collector.collect(options.rollout_steps))
        done = number * per_rollout
        if number % ROLLOUTS_BETWEEN_LINES == 0 or number == rollouts:
            speed = done / (time.perf_counter() - started)
            say(_progress(done, options.timesteps, speed, collector.returns[-200:]))
        if options.enable_profiling and summary_is_due(
            done, per_rollout, options.profiling_summary_freq
        ):
            say(get_profiler().summary())


def summary_is_due(done: int, last: int, every: int) -> bool:
    """Whether a multiple of `every` lies in the `last` steps; 0 stands for never."""
    return every > 0 and done // every > (done - last) // every


def _progress(done: int, timesteps: int, speed: float, returns: Sequence[float]) -> str:
    recent = f"{statistics.mean(returns):6.3f}" if returns else "   none yet"
    return f"step {done:6d}/{timesteps}  {speed:5.0f} steps/s  episode return {recent}"


def make_environments(boards: Sequence[Board], options: Options, count: int) -> SyncVectorEnv:
    """Several games, stepped one after the other in this process."""
    make = partial(RicochetEnv, boards, options.robots, options.pixels)
    return SyncVectorEnv([make] * count, autoreset_mode=AutoresetMode.SAME_STEP)


def make_policy(options: Options) -> RecurrentPolicy:
    """The networks, on the device that was asked for."""
    if options.device == "cuda" and not torch.cuda.is_available():
        raise DeviceNotAvailableError("this machine's PyTorch cannot use 'cuda'")
    encoder = ConvLSTMEncoder(
        options.pixels, options.channels, options.lstm_layers, options.features
    )
    policy = RecurrentPolicy(encoder, options.features, 4 * options.robots)
    return policy.to(options.device)


def _write_report(options: Options, say: Say) -> None:
    report = json.dumps(get_profiler().report(), indent=2)
    options.profiling_report.write_text(report + "\n", encoding="utf-8")
    say(f"profiling report written to {options.profiling_report}")


def _compare(options: Options, boards: Sequence[Board], policy: RecurrentPolicy, say: Say) -> None:
    seed = options.seed + 1  # other starts than those that training began with
    environments = make_environments(boards, options, options.eval_episodes)
    say(describe("trained policy", evaluate(environments, policy, seed)))
    say(describe("random policy ", evaluate_chance(environments, seed)))
    environments.close()


def evaluate(environments: gym.vector.VectorEnv, policy: RecurrentPolicy, seed: int) -> np.ndarray:
    """The return of one whole episode in every environment, sampling as in training."""
    collector = Collector(environments, policy, seed)
    rollout = collector.collect(LONGEST_EPISODE)
    return first_returns(rollout.rewards.cpu().numpy(), rollout.ended.cpu().numpy())


def evaluate_chance(environments: gym.vector.VectorEnv, seed: int) -> np.ndarray:
    """The same, with every action equally likely."""
    environments.reset(seed=seed)
    environments.action_space.seed(seed)
    rewards, ended = [], []
    for _ in range(LONGEST_EPISODE):
        _, reward, terminated, truncated, _ = environments.step(environments.action_space.sample())
        rewards.append(reward)
        ended.append(terminated | truncated)
    return first_returns(np.array(rewards), np.array(ended))


def first_returns(rewards: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """Sums of (time, environments) rewards up to the first end in each environment."""
    ends_before = np.cumsum(ended, axis=0) - ended
    return np.asarray((rewards * (ends_before == 0)).sum(axis=0))


def describe(name: str, returns: np.ndarray) -> str:
    """One line for people: the mean return with its standard error."""
    error = returns.std(ddof=1) / len(returns) ** 0.5 if len(returns) > 1 else 0.0
    return (
        f"{name}  return {returns.mean():.3f} +/- {error:.3f} over {len(returns)} episodes, "
        f"solved {(returns > 0).mean():.0%}"
    )
