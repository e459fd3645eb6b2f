"""PPO with TorchRL's parts: a collector, GAE, a replay buffer and the clipped loss."""

from __future__ import annotations

import logging
import random
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from agent import make_critic, make_policy
from environment import make_environment
from options import Options
from scheduling import JobShop, Schedule, random_job_shop
from tensordict import TensorDictBase
from torchrl.collectors import Collector
from torchrl.data import LazyTensorStorage, SamplerWithoutReplacement, TensorDictReplayBuffer
from torchrl.envs import ExplorationType, TransformedEnv, set_exploration_type
from torchrl.modules import ProbabilisticActor
from torchrl.objectives import ClipPPOLoss
from torchrl.objectives.value import GAE

GAMMA = 1.0  # an episode is one schedule and always ends, so no discount is needed
GAE_LAMBDA = 0.95
CLIP_EPSILON = 0.2
ENTROPY_COEFFICIENT = 0.01
CRITIC_COEFFICIENT = 0.5
LEARNING_RATE = 1e-3
MAX_GRADIENT_NORM = 0.5
MINIBATCH = 128


@dataclass(frozen=True)
class Episode:
    """How one schedule went."""

    total_reward: float
    makespan: float
    deadlocked: bool


@dataclass(frozen=True)
class Learner:
    """What turns a batch of experience into better networks."""

    advantage: GAE
    buffer: TensorDictReplayBuffer
    loss: ClipPPOLoss
    optimizer: torch.optim.Optimizer
    minibatches: int

    def learn(self, batch: TensorDictBase, epochs: int) -> None:
        """Go over the batch several times; advantages follow the critic as it improves."""
        for _ in range(epochs):
            with torch.no_grad():
                self.advantage(batch)
            self.buffer.extend(batch.reshape(-1))
            for _ in range(self.minibatches):
                self._gradient_step(self.buffer.sample())

    def _gradient_step(self, minibatch: TensorDictBase) -> None:
        losses = self.loss(minibatch)
        total = losses["loss_objective"] + losses["loss_critic"] + losses["loss_entropy"]
        self.optimizer.zero_grad()
        total.backward()
        torch.nn.utils.clip_grad_norm_(self.loss.parameters(), MAX_GRADIENT_NORM)
        self.optimizer.step()


def make_learner(
    policy: ProbabilisticActor, critic: torch.nn.Module, frames_per_batch: int
) -> Learner:
    """Put the parts of PPO together around the two networks."""
    loss = ClipPPOLoss(
        policy,
        critic,
        clip_epsilon=CLIP_EPSILON,
        entropy_coeff=ENTROPY_COEFFICIENT,
        critic_coeff=CRITIC_COEFFICIENT,
        normalize_advantage=True,
    )
    minibatch = min(MINIBATCH, frames_per_batch)
    buffer = TensorDictReplayBuffer(
        storage=LazyTensorStorage(frames_per_batch),
        sampler=SamplerWithoutReplacement(),
        batch_size=minibatch,
    )
    return Learner(
        GAE(gamma=GAMMA, lmbda=GAE_LAMBDA, value_network=critic),
        buffer,
        loss,
        torch.optim.Adam(loss.parameters(), lr=LEARNING_RATE),
        frames_per_batch // minibatch,
    )


def train(options: Options, say: Callable[[str], None] = print) -> ProbabilisticActor:
    """Train a policy for one shop, and compare it with chance at the end."""
    # TorchRL reports the buffer's allocation at level INFO, in the middle of the progress lines.
    logging.getLogger("torchrl").setLevel(logging.WARNING)
    torch.set_num_threads(options.threads)
    torch.manual_seed(options.seed)
    shop = random_job_shop(options.jobs, options.machines, options.seed)
    environment = make_environment(shop, turbo=options.turbo)
    features, actions = environment.schedule.features, environment.schedule.actions
    policy = make_policy(features, actions, options.n_hidden, options.n_layer)
    critic = make_critic(features, options.n_hidden, options.n_layer)
    learner = make_learner(policy, critic, options.frames_per_batch)
    say(
        f"{options.jobs} jobs on {options.machines} machines: {features} features, "
        f"{actions} actions, lower bound {shop.lower_bound}, "
        f"turbo {'on' if options.turbo else 'off'}"
    )
    _run_batches(options, environment, policy, learner, say)
    evaluation = make_environment(shop, turbo=options.turbo)
    say(describe("trained policy", evaluate(evaluation, policy, options.eval_episodes)))
    chance = evaluate_chance(shop, options.eval_episodes, options.seed, turbo=options.turbo)
    say(describe("random policy ", chance))
    return policy


def _run_batches(
    options: Options,
    environment: TransformedEnv,
    policy: ProbabilisticActor,
    learner: Learner,
    say: Callable[[str], None],
) -> None:
    collector = Collector(
        environment,
        policy,
        frames_per_batch=options.frames_per_batch,
        total_frames=options.frames_per_batch * options.batches,
        # The policy keeps no state, so it needs no transform that tells it of resets.
        auto_register_policy_transforms=False,
    )
    started = time.perf_counter()
    try:
        for number, batch in enumerate(collector, start=1):
            learner.learn(batch, options.epochs)
            speed = number * options.frames_per_batch / (time.perf_counter() - started)
            say(_progress(number, options.batches, batch, speed))
    finally:
        collector.shutdown()


def _progress(number: int, batches: int, batch: TensorDictBase, frames_per_second: float) -> str:
    ended = batch["next", "done"].squeeze(-1)
    line = f"batch {number:3d}/{batches}  {frames_per_second:5.0f} frames/s"
    if not ended.any():
        return f"{line}  no episode ended"
    finished = batch["next"][ended]
    return (
        f"{line}  episodes {len(finished):3d}"
        f"  return {finished['episode_reward'].mean().item():6.2f}"
        f"  steps {finished['step_count'].float().mean().item():5.1f}"
        f"  deadlocked {finished['deadlocked'].float().mean().item():4.0%}"
    )


def evaluate(
    environment: TransformedEnv, policy: ProbabilisticActor, episodes: int
) -> list[Episode]:
    """Play whole episodes with the policy, sampling as in training."""
    results = []
    schedule = environment.schedule
    longest = 4 * schedule.shop.operations  # two transitions an operation, each with one wait
    for _ in range(episodes):
        with torch.no_grad(), set_exploration_type(ExplorationType.RANDOM):
            played = environment.rollout(longest, policy)
        total = played["next", "reward"].sum().item()
        results.append(Episode(total, schedule.makespan, schedule.deadlocked))
    return results


def evaluate_chance(shop: JobShop, episodes: int, seed: int, *, turbo: bool) -> list[Episode]:
    """Play whole episodes in which every open action is equally likely."""
    rng = random.Random(seed)
    results = []
    for _ in range(episodes):
        schedule = Schedule(shop, turbo=turbo)
        total = 0.0
        while not (schedule.complete or schedule.deadlocked):
            choices = [action for action, is_open in enumerate(schedule.open_actions()) if is_open]
            total += schedule.step(rng.choice(choices))
        results.append(Episode(total, schedule.makespan, schedule.deadlocked))
    return results


def describe(name: str, episodes: Sequence[Episode]) -> str:
    """One line for people: the mean return with its standard error, and what became of it."""
    returns = [episode.total_reward for episode in episodes]
    error = statistics.stdev(returns) / len(returns) ** 0.5 if len(returns) > 1 else 0.0
    complete = [episode.makespan for episode in episodes if not episode.deadlocked]
    makespan = f"{statistics.mean(complete):.2f} x lower bound" if complete else "none completed"
    return (
        f"{name}  return {statistics.mean(returns):.3f} +/- {error:.3f} over {len(returns)} "
        f"episodes, deadlocked {len(episodes) - len(complete)}, makespan {makespan}"
    )
