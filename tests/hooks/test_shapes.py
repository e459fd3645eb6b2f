"""Hand-written parts are recognised, put into the right phase, and left as they were."""

from __future__ import annotations

import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hotloop.hooks import recognise
from hotloop.hooks.results import Outcome, outcome_of

PROGRAMS = Path(__file__).parent / "own_programs"


# -- rules --


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
    """Learns, and somebody else acts."""

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
        (Vocabulary, {}),
        (WholeTraining, {}),
        (PriceTable, {}),
        (TableOfValues, {"update": "learn.step"}),
        (EpsilonGreedy, {"choose_action": "policy.act"}),
        (Tracker, {}),
        (Board, {}),
        (Deck, {}),
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


def test_and_train(net: Any, env: Any, optimizer: Any) -> None:
    env.step(net(env.reset())).backward()


test_and_train.__test__ = False  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("function", "phases"),
    [
        (run_test_episodes, [("evaluate",)]),
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


Answer = namedtuple("Answer", "observations rewards dones")


@pytest.mark.parametrize(
    ("result", "outcome"),
    [
        ((0, 1.0, True), Outcome(1, 1)),
        ((0, 1.0, False, {}), Outcome(1, 0)),
        ((0, 1.0, False, True, {}), Outcome(1, 1)),
        ((np.zeros(4), np.float32(1), np.bool_(True), {}), Outcome(1, 1)),
        ((np.zeros((3, 4)), np.zeros(3), np.array([True, False, True]), [{}]), Outcome(3, 2)),
        (
            (
                np.zeros((2, 4)),
                np.zeros(2),
                np.array([True, False]),
                np.array([True, True]),
                {},
            ),
            Outcome(2, 2),
        ),
        (([0, 0], [1.0, 2.0], [0.0, 1.0]), Outcome(2, 1)),
        (Answer(np.zeros((5, 2)), np.zeros(5), np.zeros(5, bool)), Outcome(5, 0)),
        ({"obs": 1, "reward": 0.5, "done": True}, Outcome(1, 1)),
        (({"a": 0}, {"a": 1.0, "b": 1.0}, {"a": True, "b": True}, {"a": {}}), Outcome(1, 1)),
        ((np.zeros(2), -1.0), Outcome(1, None)),
        # Rewards of three agents in one environment.
        ((np.zeros(4), np.zeros(3), False, {}), Outcome(1, 0)),
        (None, None),
        (3.0, None),
        (("text", "more"), None),
    ],
)
def test_outcome_of_a_step(result: Any, outcome: Outcome | None) -> None:
    assert outcome_of(result) == outcome


def test_outcome_of_torch_tensors() -> None:
    torch = pytest.importorskip("torch")
    done = torch.tensor([True, False, True])
    assert outcome_of((torch.zeros(3, 2), torch.zeros(3), done, {})) == Outcome(3, 2)


# -- whole programs --


def same_twice(profile: Any, program: Path, *arguments: str) -> Any:
    """The program's run under hotloop, which says what it says alone."""
    run = profile(program, *arguments)
    assert run.out == profile(program, *arguments, hotloop=False).out
    assert "failures" not in (run.capture / "main.jsonl").read_text()
    return run


def test_tabular(profile: Any) -> None:
    run = profile(PROGRAMS / "tabular.py")
    steps, episodes = map(int, run.out.split())
    assert (run.counter("env_steps"), run.counter("episodes")) == (steps, episodes)
    assert run.calls("env.step") == run.calls("learn.step") == steps
    assert run.paths["env.step"]["how"] == "shape"


def test_tutorial_in_one_file(profile: Any) -> None:
    pytest.importorskip("torch")
    run = same_twice(profile, PROGRAMS / "tutorial_dqn.py", "800")
    steps, episodes, updates = map(int, run.out.split()[:3])
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("gradient_steps") == updates
    assert run.counter("samples") == updates * 128
    assert run.coverage > 0.95, run.table()
    assert run.report["shapes"]["buffer.sample"] == ["__main__:ReplayMemory.sample"]


def test_package_with_its_own_environment(profile: Any) -> None:
    pytest.importorskip("torch")
    run = same_twice(profile, PROGRAMS / "maze" / "train.py", "30")
    steps, episodes, updates = map(int, run.out.split()[:3])
    assert run.counter("env_steps") == steps  # those of the evaluation are not training
    assert run.counter("episodes") == episodes
    assert run.counter("gradient_steps") == updates
    assert run.paths["evaluate/env.step"]["calls"] > 0
    assert run.coverage > 0.93, run.table()


def test_rollout_storage(profile: Any) -> None:
    pytest.importorskip("torch")
    run = same_twice(profile, PROGRAMS / "rollout_ppo.py", "12")
    steps, episodes, updates = map(int, run.out.split()[:3])
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("gradient_steps") == updates
    assert {"advantage", "buffer.add", "buffer.sample", "env.step"} <= set(run.report["shapes"])


def test_network_that_acts_without_being_called(profile: Any) -> None:
    pytest.importorskip("torch")
    run = same_twice(profile, PROGRAMS / "minimal_dqn.py", "40")
    steps, _, updates = map(int, run.out.split()[:3])
    assert run.report["shapes"]["policy.act"] == ["__main__:Qnet.sample_action"]
    assert run.calls("policy.act") >= steps - 1  # the first action is chosen before the loop begins
    assert run.counter("gradient_steps") == updates


def test_gradients_in_numpy(profile: Any) -> None:
    run = same_twice(profile, PROGRAMS / "numpy_gradients.py", "50")
    assert run.counter("env_steps") == 5000
    assert {"policy.act", "advantage", "learn.backward"} <= set(run.report["shapes"])


@pytest.mark.parametrize(
    ("part", "phase", "calls"),
    [
        ("step", "env.step", 305),
        ("push", "buffer.add", 300),
        ("sample", "buffer.sample", 285),
        ("act", "policy.act", 305),
        ("learn", "learn.step", 285),
        ("advantage", "advantage", 30),
        ("log", "log", 30),
        ("render", "env.render", 30),
        ("evaluate", "evaluate", 1),
    ],
)
def test_busy_loop_is_found_in_its_phase(profile: Any, part: str, phase: str, calls: int) -> None:
    length = 0.3 / calls
    run = profile(PROGRAMS / "busy_parts.py", f"{part}={length}")
    spent = float(run.out)
    # Acting comes before the first step, with which the loop begins.
    found = sum(p["self_s"] for p in [*run.phases, *run.report["startup"]] if p["name"] == phase)
    assert found == pytest.approx(spent, rel=0.05), run.table()
    others = sum(p["self_s"] for p in run.phases if p["name"] not in (phase, "import"))
    assert others < 0.1 * spent, run.table()


# -- nothing changes --

HANDLED = """
import functools, inspect, pickle, sys, weakref
import cloudpickle

class Memory:
    def __init__(self, capacity):
        self.rows = []
    def __len__(self):
        return len(self.rows)
    def push(self, row):
        self.rows.append(row)
    def sample(self, n: int = 3) -> list:
        'Draws.'
        return self.rows[:n]

def compute_gae(rewards, values, gamma=0.9):
    return sum(rewards) * gamma + sum(values)

memory = Memory(10)
memory.push(1)
print(inspect.signature(compute_gae), inspect.signature(Memory.sample), Memory.sample.__doc__)
print(inspect.isfunction(compute_gae), compute_gae.__name__, compute_gae.__module__)
print(weakref.ref(compute_gae)() is compute_gae)
print(pickle.loads(pickle.dumps(compute_gae)) is compute_gae)
print(pickle.loads(pickle.dumps(memory)).sample(), pickle.loads(pickle.dumps(memory.sample))())
copy = pickle.loads(cloudpickle.dumps(compute_gae))
print(copy([1.0], [2.0]), compute_gae([1.0], [2.0]))
other = pickle.loads(cloudpickle.dumps(Memory))(3)
other.push(4)
print(len(other))
print(inspect.getsource(compute_gae).splitlines()[0])
"""


def test_functions_can_be_handled_as_before(profile: Any) -> None:
    pytest.importorskip("cloudpickle")
    assert profile(HANDLED).out == profile(HANDLED, hotloop=False).out


COMPILED = """
import numba, numpy as np
from numba.experimental import jitclass

@numba.njit
def compute_gae(rewards, values, gamma):
    return (rewards * gamma + values).sum()

def discount_rewards(rewards, gamma):
    return compute_gae(rewards, rewards, gamma)

@jitclass([("size", numba.int64)])
class Buffer:
    def __init__(self, size):
        self.size = size
    def add(self, n):
        self.size += n
    def sample(self, n):
        return self.size + n

class Env:
    def reset(self):
        return 0
    def step(self, action):
        return 0, 1.0, False

env = Env()
buffer = Buffer(1)
for _ in range(3):
    env.step(0)
    buffer.add(2)
print(discount_rewards(np.ones(3), 0.5), buffer.sample(1))
"""


def test_compiled_functions_and_classes_are_left_alone(profile: Any) -> None:
    pytest.importorskip("numba")
    run = profile(COMPILED)
    assert run.out == "4.5 8\n"
    assert run.counter("env_steps") == 3


TORCH_COMPILED = """
import torch

def compute_gae(rewards, values, gamma=0.9):
    return rewards * gamma + values

@torch.compile(fullgraph=True, backend="eager")
def whole(rewards, values):
    return compute_gae(rewards, values).sum()

class Env:
    def reset(self):
        return 0
    def step(self, action):
        return 0, 1.0, False

env = Env()
env.step(0)
print(whole(torch.ones(3), torch.ones(3)), compute_gae(torch.ones(1), torch.ones(1)))
env.step(0)
"""


def test_torch_compile_looks_through(profile: Any) -> None:
    pytest.importorskip("torch")
    run = profile(TORCH_COMPILED)
    assert run.out == profile(TORCH_COMPILED, hotloop=False).out
    assert run.calls("advantage") == 1


FAILING = '''"""Doc."""
from __future__ import annotations

class Env:
    def reset(self): return 0
    def step(self, action):
        raise RuntimeError("broken")

def helper(): ...

"a text in between"
x: int = 1
print(__doc__, __annotations__)

def main(): Env().step(1)

main()
'''


def test_traceback_is_the_programs_own(tmp_path: Path) -> None:
    program = tmp_path / "failing.py"
    program.write_text(FAILING)
    alone = subprocess.run([sys.executable, str(program)], capture_output=True, text=True)
    command = [sys.executable, "-m", "hotloop", "run", "-q", "-o", str(tmp_path / "capture")]
    under = subprocess.run([*command, str(program)], capture_output=True, text=True)
    assert (under.stdout, under.returncode) == (alone.stdout, alone.returncode)
    assert under.stderr == alone.stderr


def test_what_is_no_environment_is_let_go(profile: Any) -> None:
    run = profile(
        "class Clock:\n"
        "    def reset(self): return 0\n"
        "    def step(self, action): return 'tick'\n"
        "clock = Clock()\n"
        "for _ in range(5): clock.step(1)\n"
        "print('done')\n"
    )
    assert run.counter("env_steps") == 0
    assert run.calls("env.step") <= 1
