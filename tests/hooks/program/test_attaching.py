"""Hand-written parts in whole programs: found, timed, and left as they were."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

PROGRAMS = Path(__file__).parents[1] / "own_programs"


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


@pytest.mark.real_time
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


@pytest.mark.real_time
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


@pytest.mark.real_time
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


def test_a_tree_search_is_split_into_network_rules_and_tree(profile: Any) -> None:
    run = profile(Path(__file__).parents[1] / "own_programs" / "self_play.py")
    searches, positions = map(int, run.out.split())
    assert run.counter("searches") == searches
    assert run.counter("search_leaves") == positions
    assert run.counter("gradient_steps") == 20
    assert {"search", "search/search.network", "search/search.rules"} <= set(run.paths)
    # The loop is the whole iteration: it begins with self-play.
    assert run.calls("search") == searches
    assert not {"policy.act", "advantage", "buffer.sample"} & set(run.paths), run.table()
