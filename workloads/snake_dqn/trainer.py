"""The training loop: choose actions, step all games, store, learn."""

from __future__ import annotations

import copy
import time
from collections import deque
from dataclasses import dataclass
from statistics import fmean

import torch
from boards import TURNS
from evaluation import Score, evaluate, greedy_player, random_player
from features import feature_count
from network import QNetwork, fingerprint
from options import Options
from replay_buffer import ReplayBuffer
from snake_env import SnakeEnv, Step
from torch import Tensor, nn

DISCOUNT = 0.95
LEARNING_RATE = 1e-3
BUFFER_CAPACITY = 50_000
# Before the first gradient step the buffer should hold more than a few moments of play.
LEARNING_STARTS = 2_000
TARGET_UPDATE_EVERY = 200  # gradient steps
EXPLORATION_STEPS = 100_000  # environment steps until epsilon has fallen to its end
EPSILON_START, EPSILON_END = 1.0, 0.02
RECENT_EPISODES = 500  # for the averages in the progress lines
EVALUATION_GAMES = 256
# Games for evaluation must differ from those trained on; so must their seeds.
EVALUATION_SEED_OFFSET = 1_000_000


class DeviceUnavailableError(Exception):
    """The device asked for is not on this machine."""


@dataclass(frozen=True)
class Summary:
    """What a finished run amounts to."""

    env_steps: int
    episodes: int
    gradient_steps: int
    wall_s: float
    weights: str
    learned: Score | None
    random: Score | None

    @property
    def steps_per_episode(self) -> float:
        return self.env_steps / max(1, self.episodes)


def choose_device(name: str) -> torch.device:
    """The device for a name of the command line; `auto` takes the fastest kind there is."""
    available = {
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
        "cpu": True,
    }
    if name == "auto":
        name = next(kind for kind, present in available.items() if present)
    if not available[name]:
        raise DeviceUnavailableError(f"--device {name}: not available here; try --device auto")
    return torch.device(name)


class Trainer:
    """A DQN learner and the games that it learns from."""

    def __init__(self, options: Options) -> None:
        self.options = options
        self.device = choose_device(options.device)
        torch.set_num_threads(options.threads)
        torch.manual_seed(options.seed)
        self.num_envs = options.envs
        self.env = self._make_env(options.envs, options.seed)
        features = feature_count(options.flood_fill)
        self.network = QNetwork(features, options.hidden).to(self.device)
        self.target_network = copy.deepcopy(self.network)
        self.optimizer = torch.optim.Adam(self.network.parameters(), lr=LEARNING_RATE)
        self.loss_function = nn.SmoothL1Loss()
        self.replay_buffer = ReplayBuffer(BUFFER_CAPACITY, features, options.seed)
        self.total_steps = 0
        self.episodes = 0
        self.gradient_steps = 0
        self._gradient_steps_owed = 0.0
        self._random = torch.Generator(device=self.device).manual_seed(options.seed)
        self._recent_returns: deque[float] = deque(maxlen=RECENT_EPISODES)
        self._recent_lengths: deque[int] = deque(maxlen=RECENT_EPISODES)

    def run(self) -> Summary:
        """Train to the end, then play against a random player where that was asked for."""
        started = time.perf_counter()
        self.train()
        wall_s = time.perf_counter() - started
        learned = random = None
        if self.options.evaluate:
            learned, random = self.evaluate()
        return Summary(
            env_steps=self.total_steps,
            episodes=self.episodes,
            gradient_steps=self.gradient_steps,
            wall_s=wall_s,
            weights=fingerprint(self.network),
            learned=learned,
            random=random,
        )

    def train(self) -> None:
        """Step all games together until a limit is reached."""
        started = time.perf_counter()
        states = self.env.reset()
        vector_steps = 0
        while not self._finished():
            actions = self.select_actions(states)
            step = self.env.step(actions)
            self.store(states, actions, step)
            self.learn()
            states = step.observations
            self._count(step)
            vector_steps += 1
            if vector_steps % self.options.log_every == 0:
                self._print_progress(time.perf_counter() - started)

    @torch.no_grad()
    def select_actions(self, states: Tensor) -> Tensor:
        """The best known action of each game, or a random one with probability epsilon."""
        best: Tensor = self.network(states).argmax(dim=1)
        anything = torch.randint(len(TURNS), best.shape, generator=self._random, device=self.device)
        lots = torch.rand(best.shape, generator=self._random, device=self.device)
        return torch.where(lots < self.epsilon, anything, best)

    @property
    def epsilon(self) -> float:
        done = min(1.0, self.total_steps / EXPLORATION_STEPS)
        return EPSILON_START + done * (EPSILON_END - EPSILON_START)

    def store(self, states: Tensor, actions: Tensor, step: Step) -> None:
        """Remember the step of every game, one by one or together."""
        if self.options.push == "loop":
            self._push_one_by_one(states, actions, step)
        else:
            self._push_together(states, actions, step)

    def _push_one_by_one(self, states: Tensor, actions: Tensor, step: Step) -> None:
        for i in range(self.num_envs):
            self.replay_buffer.push(
                states[i].cpu().numpy(),
                int(actions[i].item()),
                step.rewards[i].item(),
                step.observations[i].cpu().numpy(),
                bool(step.dones[i].item()),
            )

    def _push_together(self, states: Tensor, actions: Tensor, step: Step) -> None:
        self.replay_buffer.push_batch(
            states.cpu().numpy(),
            actions.cpu().numpy(),
            step.rewards.cpu().numpy(),
            step.observations.cpu().numpy(),
            step.dones.cpu().numpy(),
        )

    def learn(self) -> None:
        """Make the gradient steps that are due after one vector step."""
        if len(self.replay_buffer) < LEARNING_STARTS:
            return
        # A ratio below one adds up until a whole gradient step is owed.
        self._gradient_steps_owed += self.options.train_ratio
        while self._gradient_steps_owed >= 1.0:
            self._gradient_steps_owed -= 1.0
            self.train_step()

    def train_step(self) -> Tensor:
        """One gradient step on one batch; gives the loss."""
        batch = self.replay_buffer.sample(self.options.batch_size, self.device)
        with torch.no_grad():
            best_next = self.target_network(batch.next_states).max(dim=1).values
            targets = batch.rewards + DISCOUNT * (1.0 - batch.dones) * best_next
        values = self.network(batch.states).gather(1, batch.actions[:, None]).squeeze(1)
        loss: Tensor = self.loss_function(values, targets)
        self.optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self.optimizer.step()
        self.gradient_steps += 1
        if self.gradient_steps % TARGET_UPDATE_EVERY == 0:
            self.target_network.load_state_dict(self.network.state_dict())
        return loss.detach()

    def evaluate(self) -> tuple[Score, Score]:
        """The learned player's score and a random player's, on the same fresh boards."""
        seed = self.options.seed + EVALUATION_SEED_OFFSET
        learned = evaluate(self._make_env(EVALUATION_GAMES, seed), greedy_player(self.network))
        random = evaluate(self._make_env(EVALUATION_GAMES, seed), random_player(seed, self.device))
        return learned, random

    def _make_env(self, games: int, seed: int) -> SnakeEnv:
        return SnakeEnv(games, self.options.board, seed, self.device, self.options.flood_fill)

    def _finished(self) -> bool:
        steps, episodes = self.options.steps, self.options.episodes
        out_of_steps = steps is not None and self.total_steps >= steps
        return out_of_steps or (episodes is not None and self.episodes >= episodes)

    def _count(self, step: Step) -> None:
        self.total_steps += self.num_envs
        self.episodes += len(step.ended_returns)
        self._recent_returns.extend(step.ended_returns.tolist())
        self._recent_lengths.extend(step.ended_lengths.tolist())

    def _print_progress(self, elapsed_s: float) -> None:
        mean_return = fmean(self._recent_returns) if self._recent_returns else float("nan")
        mean_length = fmean(self._recent_lengths) if self._recent_lengths else float("nan")
        print(
            f"steps {self.total_steps:>9,}  episodes {self.episodes:>7,}  "
            f"return {mean_return:6.2f}  steps/episode {mean_length:6.1f}  "
            f"epsilon {self.epsilon:.2f}  {self.total_steps / elapsed_s:8,.0f} steps/s",
            flush=True,
        )
