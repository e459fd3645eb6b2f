"""The training loop: observe the market, act, remember, learn, and keep a record."""

from __future__ import annotations

import time
from dataclasses import dataclass

import keras
from data_fetcher import DataFetcher
from evaluation import Score, evaluate, random_trader
from options import Options
from rl_agent import DQNAgent
from trade_log import TradeLog
from trading_environment import ACTION_NAMES, TradingEnvironment

MARKET_BARS = 6_000
TRAINING_BARS = 3_000  # the rest is for evaluation


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


class Trainer:
    """One agent, the market that it learns from, and the market that judges it."""

    def __init__(self, options: Options) -> None:
        self.options = options
        # On a CPU this is all it takes for the same weights from the same seed.
        keras.utils.set_random_seed(options.seed)
        # Keras keeps the policy for the whole process, so it is set back as well as set.
        policy = "mixed_float16" if options.mixed_precision else "float32"
        keras.mixed_precision.set_dtype_policy(policy)
        market = DataFetcher(options.data_dir, options.seed).fetch(MARKET_BARS)
        self.evaluation_bars = market.iloc[TRAINING_BARS:].reset_index(drop=True)
        self.env = TradingEnvironment(market.iloc[:TRAINING_BARS], options.features)
        shape = self.env.observation_space.shape
        assert shape is not None
        self.agent = DQNAgent(
            features=shape[0],
            actions=len(ACTION_NAMES),
            hidden=options.hidden,
            batch_size=options.batch_size,
            act=options.act,
            seed=options.seed,
        )
        self.total_steps = 0
        self.episodes = 0

    def run(self) -> Summary:
        """Train to the end, then compare with a random trader where that was asked for."""
        started = time.perf_counter()
        self.train()
        wall_s = time.perf_counter() - started
        learned = random = None
        if self.options.evaluate:
            learned, random = self.evaluate()
        return Summary(
            env_steps=self.total_steps,
            episodes=self.episodes,
            gradient_steps=self.agent.gradient_steps,
            wall_s=wall_s,
            weights=self.agent.fingerprint(),
            learned=learned,
            random=random,
        )

    def train(self) -> None:
        """Trade episode after episode until a limit is reached."""
        path = self.options.data_dir / "trades.sqlite"
        self.env.reset(seed=self.options.seed)
        with TradeLog(path, self.options.seed, self.options.log_every) as trade_log:
            while not self._finished():
                self._train_episode(trade_log)

    def _train_episode(self, trade_log: TradeLog) -> None:
        started, first_step = time.perf_counter(), self.total_steps
        state, info = self.env.reset()
        episode_return, ended = 0.0, False
        while not ended and not self._finished():
            price = info["price"]
            action = self.agent.select_action(state)
            next_state, reward, terminated, truncated, info = self.env.step(action)
            self.agent.remember(state, action, reward, next_state, terminated)
            self.agent.learn()
            self.total_steps += 1
            trade_log.record(self.total_steps, self.episodes, price, info)
            episode_return += reward
            state = next_state
            ended = terminated or truncated
        self.episodes += ended
        seconds_per_step = (time.perf_counter() - started) / (self.total_steps - first_step)
        print(
            f"steps {self.total_steps:>6,}  episodes {self.episodes:>4,}  "
            f"return {episode_return:7.2f}%  account {info['value']:>9,.0f}  "
            f"epsilon {self.agent.epsilon:.2f}  {1000.0 * seconds_per_step:6.1f} ms/step",
            flush=True,
        )

    def evaluate(self) -> tuple[Score, Score]:
        """The agent's score and a random trader's, on the same bars after those trained on."""
        learned = evaluate(self.evaluation_bars, self.agent.best_actions)
        random = evaluate(self.evaluation_bars, random_trader(self.options.seed))
        return learned, random

    def _finished(self) -> bool:
        steps, episodes = self.options.steps, self.options.episodes
        out_of_steps = steps is not None and self.total_steps >= steps
        return out_of_steps or (episodes is not None and self.episodes >= episodes)
