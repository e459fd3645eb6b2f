"""Processes that a program starts join its run, whatever way they are started."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest
from real_runs import Hotloop, report

pytestmark = pytest.mark.programs

WORKERS = """
import multiprocessing as mp, sys, time
from hotloop import profile, count

def busy(seconds):
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass

def worker(pipe, seconds):
    while pipe.recv() is not None:
        with profile("env.step"):
            busy(seconds)
        pipe.send("done")

if __name__ == "__main__":
    context = mp.get_context(sys.argv[1])
    pipes = []
    for index in range(2):
        ours, theirs = context.Pipe()
        process = context.Process(target=worker, args=(theirs, 0.002 * (index + 1)), daemon=True)
        process.start()
        pipes.append((ours, process))
    for _ in range(50):
        with profile("env.step"):
            for pipe, _ in pipes:
                pipe.send("step")
            for pipe, _ in pipes:
                pipe.recv()
        count("env_steps", 2)
    for pipe, process in pipes:
        pipe.send(None)
        process.join()
"""


@pytest.mark.real_time
@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_workers_have_shards_of_their_own(hotloop: Hotloop, tmp_path: Path, method: str) -> None:
    import multiprocessing

    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    (tmp_path / "train.py").write_text(WORKERS)
    done = hotloop("run", "-q", "-o", "cap", "train.py", method)
    assert (done.returncode, done.stderr) == (0, "")
    document = report(hotloop)
    workers = {p["process"] for p in document["phases"]} - {"main"}
    assert len(workers) == 2
    for worker in workers:
        steps = [p for p in document["phases"] if (p["process"], p["path"]) == (worker, "env.step")]
        assert [p["calls"] for p in steps] == [50]
    # The parent's step: waiting for the workers separated from moving the data.
    own = {p["path"]: p for p in document["phases"] if p["process"] == "main"}
    assert own["env.step/wait"]["calls"] == 100
    assert own["env.step/wait"]["self_s"] > own["env.step/transfer"]["self_s"]
    split = document["workers"]
    assert split["workers"] == 2
    assert split["computing_s"] + split["waiting_s"] + split["moving_s"] == pytest.approx(
        split["step_s"], rel=0.01
    )
    # 2 ms and 4 ms a step: the average computes 3 ms, the parent waits for 4 ms.
    assert split["computing_s"] > 0.1
    assert split["waiting_s"] > 0.02
    assert document["run"]["env_steps"] == 100
    assert all(process["ended"] for process in document["processes"])


TRAINS_IN_A_CHILD = """
import multiprocessing as mp, time
from hotloop import profile, count

def train():
    for _ in range(50):
        with profile("env.step"):
            time.sleep(0.004)
        count("env_steps", 1)

if __name__ == "__main__":
    process = mp.Process(target=train)
    process.start()
    process.join()
"""


@pytest.mark.real_time
def test_a_program_that_waits_for_its_training(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINS_IN_A_CHILD)
    assert hotloop("run", "-q", "-o", "cap", "train.py").returncode == 0
    document = report(hotloop)
    (waiting,) = [p for p in document["phases"] if (p["process"], p["name"]) == ("main", "wait")]
    assert waiting["total_s"] >= 0.2
    (step,) = [p for p in document["phases"] if p["name"] == "env.step"]
    assert step["process"] == "train-1"  # after the function, not `Process-1`
    assert step["share"] > 0.9
    assert document["coverage"] > 0.9
    assert document["run"]["env_steps"] == 50
    assert "trains in train-1" in document["notes"][-1]


def test_a_worker_that_is_killed_leaves_a_readable_shard(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(
        "import os, signal, time\nfrom hotloop import profile\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    while True:\n"
        "        with profile('env.step'):\n"
        "            time.sleep(0.01)\n"
        "with profile('wait'):\n"
        "    while not any(b'{\"w\"' in p.read_bytes() for p in __import__('pathlib').Path('cap')"
        ".glob('child-*.jsonl')):\n"
        "        time.sleep(0.05)\n"
        "os.kill(child, signal.SIGKILL)\nos.waitpid(child, 0)\n"
    )
    assert hotloop("run", "-q", "-o", "cap", "train.py").returncode == 0
    document = report(hotloop)
    (child,) = [p for p in document["processes"] if p["name"] == "child"]
    assert not child["ended"]
    assert [p["name"] for p in document["phases"] if p["process"] == "child"] == ["env.step"]


def test_a_program_started_by_the_program_joins(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "inner.py").write_text(
        "from hotloop import profile\nwith profile('learn'):\n    sum(range(10**6))\n"
    )
    (tmp_path / "outer.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'inner.py'], check=True)\n"
    )
    assert hotloop("run", "-q", "-o", "cap", "outer.py").returncode == 0
    assert ("inner", "learn") in {(p["process"], p["name"]) for p in report(hotloop)["phases"]}


def test_processes_with_nothing_to_say_leave_nothing(hotloop: Hotloop, tmp_path: Path) -> None:
    code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import json'])"
    assert hotloop("run", "-q", "-o", "cap", "-c", code).returncode == 0
    assert [p.name for p in (tmp_path / "cap").iterdir()] == ["main.jsonl"]


def test_a_sitecustomize_of_the_users_own_still_runs(hotloop: Hotloop, tmp_path: Path) -> None:
    own = tmp_path / "own"
    own.mkdir()
    (own / "sitecustomize.py").write_text("import builtins\nbuiltins.OWN = 'seen'\n")
    code = (
        "import subprocess, sys; subprocess.run([sys.executable, '-c', 'print(OWN)'], check=True)"
    )
    import os

    paths = os.pathsep.join([str(own), os.environ.get("PYTHONPATH", "")])
    done = hotloop("run", "-q", "-c", code, env={"PYTHONPATH": paths})
    assert done.stdout == "seen\n"


def test_classes_of_the_program_still_travel(hotloop: Hotloop, tmp_path: Path) -> None:
    """cloudpickle sends classes by value, with whatever hotloop put into them."""
    pytest.importorskip("cloudpickle")
    (tmp_path / "train.py").write_text(
        "import cloudpickle, pickle, gymnasium as gym\nfrom hotloop import profile, count\n"
        "class Env(gym.Env):\n"
        "    def step(self, action):\n"
        "        with profile('inner'):\n"
        "            count('env_steps')\n"
        "        return 0, 0.0, False, False, {}\n"
        "copy = pickle.loads(cloudpickle.dumps(Env))\n"
        "print(copy().step(0))\n"
    )
    done = hotloop("run", "-q", "train.py")
    assert done.stdout == "(0, 0.0, False, False, {})\n", done.stderr


OWN_WRAPPER = """
import sys
sys.modules["tensorflow"] = None
import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import SubprocVecEnv

class Scaled(gym.Wrapper):
    def step(self, action):
        observation, reward, *rest = super().step(action)
        return observation, 0.5 * reward, *rest

    def reset(self, **kwargs):
        return super().reset(**kwargs)

def make():
    return Scaled(gym.make("CartPole-v1"))

if __name__ == "__main__":
    envs = SubprocVecEnv([make] * 2, start_method=sys.argv[1])
    PPO("MlpPolicy", envs, n_steps=64, device="cpu").learn(256)
    print("done")
"""


@pytest.mark.parametrize("method", ["fork", "forkserver", "spawn"])
def test_a_class_of_the_script_finds_its_parent_in_a_worker(
    hotloop: Hotloop, tmp_path: Path, method: str
) -> None:
    """A worker imports the script again: there are two classes of that name then."""
    pytest.importorskip("stable_baselines3")
    (tmp_path / "train.py").write_text(OWN_WRAPPER)
    done = hotloop("run", "-q", "-o", "cap", "train.py", method)
    assert done.stdout == "done\n", done.stderr
    found = report(hotloop)
    assert found["run"]["env_steps"] == 256
    steps = [p for p in found["phases"] if p["process"] != "main" and p["name"] == "env.step"]
    assert sum(phase["calls"] for phase in steps) == 256


def test_functions_of_the_script_travel_by_either_pickle(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("cloudpickle")
    (tmp_path / "helpers.py").write_text(
        "import gymnasium as gym\nclass Other(gym.Env):\n    def step(self, action):\n"
        "        return super().__init__(), action\n"
    )
    (tmp_path / "train.py").write_text(
        "import cloudpickle, gymnasium as gym, helpers, pickle\n"
        "class Env(gym.Env):\n    def step(self, action):\n"
        "        return super().__init__(), action\n"
        "assert pickle.loads(pickle.dumps(Env.step)) is Env.step\n"
        "assert pickle.loads(cloudpickle.dumps(helpers.Other.step)) is helpers.Other.step\n"
        "print(pickle.loads(cloudpickle.dumps(Env)) is Env, type(vars(Env)['step']).__name__)\n"
        "cloudpickle.register_pickle_by_value(helpers)\n"
        "for cls in (Env, helpers.Other):\n"
        "    data = cloudpickle.dumps(cls)\n"
        "    cloudpickle.cloudpickle._DYNAMIC_CLASS_TRACKER_BY_ID.clear()\n"
        "    copy = pickle.loads(data)\n"
        "    assert copy is not cls\n"
        "    print(copy().step(3), type(vars(copy)['step']) is type(vars(cls)['step']))\n"
        "inner = type('Holder', (), {'__reduce__': lambda self: (len, (pickle.dumps(Env.step),))})\n"
        "assert pickle.loads(cloudpickle.dumps(inner())) > 0\n"
    )
    done = hotloop("run", "-q", "train.py")
    hooked = "(None, 3) True\n"
    assert done.stdout == f"True function\n{hooked}{hooked}", done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="torchrun's launcher is for Unix here")
def test_ranks_of_torchrun_are_named(hotloop: Hotloop, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    (tmp_path / "train.py").write_text(
        "from hotloop import profile\nwith profile('learn'):\n    sum(range(10**5))\n"
    )
    done = hotloop(
        "run", "-q", "-o", "cap", "-m", "torch.distributed.run", "--standalone",
        "--nproc-per-node=2", "train.py",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    names = {p["process"] for p in report(hotloop)["phases"] if p["name"] == "learn"}
    assert names == {"rank-0", "rank-1"}


SERVED = """\
import multiprocessing, sys, time

def work():
    from hotloop import count
    count("env_steps", 3)

if __name__ == "__main__":
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["preloaded"])
    workers = [context.Process(target=work) for _ in range(2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
"""


def test_a_fork_server_is_no_worker(hotloop: Hotloop, tmp_path: Path) -> None:
    """Python 3.14 uses one by default, and imports the program in it."""
    (tmp_path / "preloaded.py").write_text(
        "from hotloop import count, profile\nwith profile('setup'):\n    count('env_steps')\n"
    )
    (tmp_path / "train.py").write_text(SERVED)
    done = hotloop("run", "-q", "-o", "cap", "train.py", env={"PYTHONPATH": str(tmp_path)})
    assert (done.returncode, done.stderr) == (0, "")
    time.sleep(1)  # the server ends after its client
    names = sorted(p.name.rpartition("-")[0] for p in (tmp_path / "cap").glob("*-*.jsonl"))
    assert names == ["work-1", "work-2"]
    assert report(hotloop)["run"]["env_steps"] == 6


NAMED = """
import multiprocessing as mp
import gymnasium as gym

def evaluate(seconds):
    env = gym.make("CartPole-v1")
    env.reset()
    for _ in range(200):
        env.step(0)

if __name__ == "__main__":
    worker = mp.get_context("fork").Process(target=evaluate, args=(1,))
    worker.start()
    worker.join()
"""


def test_a_worker_is_named_after_a_function_that_is_hooked_too(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(NAMED)
    done = hotloop("run", "-q", "-o", "cap", "train.py")
    assert done.returncode == 0, done.stderr
    names = {process["name"] for process in report(hotloop)["processes"]}
    assert names == {"main", "evaluate-1"}
