"""What hand-written classes and functions are, by their names and their code."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from hotloop.hooks.program import recognition as recognise


def phases_of(cls: type) -> dict[str, str]:
    found = recognise.in_class(cls, lambda owner: owner.__module__ == __name__)
    return {each.name: each.phases[-1] for each in found}


class RingBuffer:
    def __init__(self, capacity: int) -> None:
        self.capacity = capacity

    def add(self, state: Any, action: Any) -> None: ...

    def add_batch(self, states: Any) -> None: ...

    def sample(self, batch_size: int) -> None: ...

    def update_priorities(self, indices: Any, priorities: Any) -> None: ...


class OfflineBuffer:
    """Filled once, from a data set."""

    def __init__(self, buffer_size: int) -> None:
        self.buffer_size = buffer_size

    def load_d4rl_dataset(self, data: Any) -> None: ...

    def sample(self, batch_size: int) -> None: ...


class TransitionStore:
    """Says neither buffer nor capacity, but takes one transition a call."""

    def remember(self, s: Any, a: Any, r: float, s2: Any, d: bool) -> None: ...

    def sample_batch(self, k: int) -> None: ...


class PathStorage:
    """As in Spinning Up: filled, finished, and given out once."""

    def __init__(self, size: int) -> None:
        self.rewards, self.values, self.max_size = [0.0], [0.0], size

    def store(self, observation: Any, reward: float) -> None: ...

    def finish_path(self, last_value: float = 0.0) -> Any:
        return self.rewards + self.values + [last_value]

    def get(self) -> None: ...


class SelfContainedAgent:
    def act(self, state: Any) -> None: ...

    def remember(self, state: Any, action: Any) -> None: ...

    def replay(self, batch_size: int) -> None: ...

    def get_action_space(self) -> None: ...

    def save(self, path: str) -> None: ...


class Learner:
    """Learns with torch, whose own calls tell more than a region around them."""

    def act(self, state: Any) -> None: ...

    def improve(self, loss: Any) -> None:
        loss.backward()


class OneByOne(Learner):
    def improve(self, loss: Any) -> None:
        for each in loss:
            super().improve(each)


class OldEnvironment:
    def reset(self) -> None: ...

    def step(self, action: int) -> None: ...

    def render(self) -> None: ...


class Scheduler:
    """Has `reset` and `step`, and is no environment."""

    def reset(self) -> None: ...

    def step(self, epoch: int) -> None: ...


class Gaussian:
    """Has `sample`, and is no buffer."""

    def sample(self, n: int) -> None: ...

    def log_prob(self, x: float) -> None: ...


class Vocabulary:
    """Has a way in and a length, and no way out."""

    def add(self, word: str) -> None: ...

    def __len__(self) -> int:
        return 0


class WholeTraining:
    """`learn` and `train` are the loop here, not an update."""

    def act(self, state: Any) -> None: ...

    def learn(self, steps: int) -> None:
        self.collect()

    def train(self) -> None:
        self.env.step(0)  # type: ignore[attr-defined]

    def collect(self) -> None:
        self.envs[0].step(0)  # type: ignore[attr-defined]


class PriceTable:
    """Returns of prices are no returns of rewards."""

    def compute_returns(self, prices: Any) -> Any:
        return prices[1:] / prices[:-1]


class TableOfValues:
    """Learns, and another class acts."""

    def __init__(self, gamma: float) -> None:
        self.gamma, self.q = gamma, [[0.0]]

    def update(self, state: int, action: int, reward: float, new_state: int) -> None:
        self.q[state][action] += 0.1 * (reward + self.gamma * max(self.q[new_state]))


class EpsilonGreedy:
    def choose_action(self, state: int, table: Any) -> int:
        return int(table[state].index(max(table[state])))


class Tracker:
    """Keeps what happened; it learns nothing."""

    def update(self, state: int, action: int, reward: float, done: bool) -> None:
        self.total = reward


class RunLogger:
    def log(self, value: float) -> None:
        self.last = value


class Writer:
    """Writes text, and returns it."""

    def write(self, prompt: str) -> str:
        return prompt * 2


class Deck:
    def __len__(self) -> int:
        return 52

    def add(self, card: int) -> None: ...

    def draw(self) -> int:
        return 1


class Board:
    def get_actions(self, state: int) -> list[int]:
        return [state]


@pytest.mark.parametrize(
    ("cls", "expected"),
    [
        (
            RingBuffer,
            {
                "add": "buffer.add",
                "add_batch": "buffer.add",
                "sample": "buffer.sample",
                "update_priorities": "buffer.add",
            },
        ),
        (TransitionStore, {"remember": "buffer.add", "sample_batch": "buffer.sample"}),
        (PathStorage, {"store": "buffer.add", "get": "buffer.sample", "finish_path": "advantage"}),
        (
            SelfContainedAgent,
            {"act": "policy.act", "remember": "buffer.add", "replay": "learn.step"},
        ),
        (Learner, {"act": "policy.act"}),
        (OneByOne, {"act": "policy.act"}),
        (OldEnvironment, {"step": "env.step", "reset": "env.reset", "render": "env.render"}),
        (Scheduler, {}),
        (Gaussian, {}),
        (OfflineBuffer, {"load_d4rl_dataset": "data", "sample": "buffer.sample"}),
        (Vocabulary, {}),
        (WholeTraining, {}),
        (PriceTable, {}),
        (TableOfValues, {"update": "learn.step"}),
        (EpsilonGreedy, {"choose_action": "policy.act"}),
        (Tracker, {}),
        (Board, {}),
        (Deck, {}),
        (RunLogger, {"log": "log"}),
        (Writer, {}),
    ],
)
def test_class_is_known_by_its_whole_shape(cls: type, expected: dict[str, str]) -> None:
    assert phases_of(cls) == expected


@pytest.mark.parametrize(("cls", "said"), [(RingBuffer, True), (TransitionStore, False)])
def test_buffers_that_draw_by_priority(cls: type, said: bool) -> None:
    found = recognise.in_class(cls, lambda owner: owner.__module__ == __name__)
    ways = [each for each in found if each.kind == "buffer.sample"]
    assert [each.by_priority for each in ways] == [said]


def preprocess(frame: Any) -> Any:
    return frame[::4]


def add_indicators(df: Any) -> Any:
    return df


def get_batch(n: int) -> list[int]:
    return [n]


def get_memory() -> int:
    return 0


def get_replay_buffer(config: Any) -> Any:
    return config


def sample(logits: Any) -> Any:
    return logits


def discounted_returns(rewards: Any, gamma: float) -> Any:
    return rewards * gamma


def log_returns(rewards: Any, gamma: float) -> Any:
    return rewards * gamma


def optimize_model(model: Any, loss: Any) -> None:
    loss.backward()


def train_step(model: Any, x: Any, y: Any) -> None:
    model.train_on_batch(x, y)


def update_counter(n: int) -> int:
    return n + 1


def update_target(target: Any, original: Any, tau: float) -> None:
    target.set_weights(original.get_weights())


def soft_update(target: Any, source: Any, tau: float) -> None:
    target.copy_(source)


def update_target_q_table(table: Any, state: int) -> Any:
    return table[state]


def run_test_episodes(net: Any, env: Any) -> Any:
    return env.step(net(env.reset()))


def evaluate_and_save(net: Any, env: Any) -> Any:
    return env.step(net(env.reset()))


def test_and_train(net: Any, env: Any, optimizer: Any) -> None:
    env.step(net(env.reset())).backward()


test_and_train.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "phases"),
    [
        (run_test_episodes, [("evaluate",)]),
        (evaluate_and_save, [("evaluate",)]),
        (test_and_train, []),  # what changes weights is no evaluation, whatever its name
        (discounted_returns, [("advantage",)]),
        (log_returns, []),
        (optimize_model, []),  # torch's own calls tell more than one region around them
        (train_step, [("learn",)]),
        (update_counter, []),
        (update_target, [("learn.target",)]),
        (soft_update, [("learn.target",)]),
        (update_target_q_table, []),
        (preprocess, []),  # a picture's, of every step
        (add_indicators, [("data",)]),
        (get_batch, [("buffer.sample",)]),
        (get_memory, []),  # of the machine
        (get_replay_buffer, []),  # makes one
        (sample, []),
    ],
)
def test_function_is_known_by_name_and_code(function: Any, phases: list[tuple[str, ...]]) -> None:
    found = recognise.in_function(sys.modules[__name__], function.__name__, function)
    assert [each.phases for each in found] == phases


def test_all_methods_of_a_game_are_its_rules() -> None:
    class TicTacToe:
        def get_valid_moves(self, state: Any) -> Any: ...
        def get_next_state(self, state: Any, action: int) -> Any: ...
        def change_perspective(self, state: Any) -> Any: ...

    class Tree(TicTacToe):
        def search(self, state: Any) -> Any: ...

    def rules_of(cls: type) -> set[str]:
        found = recognise.in_class(cls, lambda each: each is not object)
        return {each.name for each in found if each.kind == "rules"}

    assert rules_of(TicTacToe) == {"get_valid_moves", "get_next_state", "change_perspective"}
    assert rules_of(Tree) == {"get_valid_moves", "get_next_state"}
