"""Returns and lengths of episodes: equal to what the libraries' own recorders add up."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from hotloop import get_profiler
from hotloop.analyze.analysis import analyze
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.episodes import EpisodeDelta, all_of
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.returns import recorded_in
from hotloop.measure.core import NATIVE, Core

pytest.importorskip("gymnasium")
pytestmark = pytest.mark.skipif(not NATIVE, reason="returns are added up by the native module")
numpy = pytest.importorskip("numpy")
if NATIVE:
    from hotloop.measure import _native

Profile = Callable[..., Any]


def episodes_of(run: Any) -> dict[str, EpisodeDelta]:
    """What the main process recorded."""
    return all_of(window.episodes for window in read_capture(run.capture).main.windows)


def sums(delta: EpisodeDelta | None) -> list[float]:
    return [] if delta is None else [delta.episodes, delta.sum, delta.length_sum]


GYMNASIUM = """
import json
import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from gymnasium.wrappers import RecordEpisodeStatistics, TransformReward
from gymnasium.wrappers.vector import RecordEpisodeStatistics as RecordVector

def make():
    # Rewards that differ, and that are no whole numbers.
    env = gym.make("CartPole-v1", max_episode_steps=25)
    return TransformReward(env, lambda r: r * 0.1 + env.unwrapped.state[0])

def vector(mode):
    return SyncVectorEnv([make] * 3, autoreset_mode=mode)

found = [0, 0.0, 0]
def add(recorder):
    found[0] += len(recorder.return_queue)
    found[1] += sum(recorder.return_queue)
    found[2] += sum(recorder.length_queue)

env = RecordEpisodeStatistics(make(), buffer_length=10**6)
env.reset(seed=0)
for step in range(600):
    *_, terminated, truncated, _ = env.step(step % 2)
    if terminated or truncated or step % 100 == 50:  # some are cut off
        env.reset()
add(env)
for mode in (AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP):
    envs = RecordVector(vector(mode), buffer_length=10**6)
    envs.reset(seed=0)
    for step in range(200):
        envs.step(np.full(3, step % 2))
    add(envs)
# One recorder for each environment: that of vectors begins all episodes anew where some are reset.
each = [RecordEpisodeStatistics(make(), buffer_length=10**6) for _ in range(3)]
envs = SyncVectorEnv([lambda env=env: env for env in each], autoreset_mode=AutoresetMode.DISABLED)
envs.reset(seed=0)
for step in range(200):
    _, _, terminated, truncated, _ = envs.step(np.full(3, step % 2))
    over = terminated | truncated
    if over.any():
        envs.reset(options={"reset_mask": over})
for recorder in each:
    add(recorder)
print(json.dumps([float(value) for value in found]))
"""


def test_gymnasium_returns_equal_its_recorders(profile: Profile) -> None:
    run = profile(GYMNASIUM)
    found = episodes_of(run)
    printed = json.loads(run.out)
    assert sums(found["training"]) == pytest.approx(printed, rel=1e-9)
    assert sums(found["training_raw"]) == pytest.approx(printed, rel=1e-9)
    assert found["training"].unknown == 0


MASKED = """
import json
import gymnasium as gym
import numpy as np
from gymnasium.vector import AutoresetMode, SyncVectorEnv

class Count(gym.Env):
    observation_space, action_space = gym.spaces.Discrete(9), gym.spaces.Discrete(2)
    def __init__(self, last): self.last = last
    def reset(self, *, seed=None, options=None):
        self.t = 0
        return 0, {}
    def step(self, action):
        self.t += 1
        return self.t, -0.5 * self.t, self.t == self.last, False, {}

envs = SyncVectorEnv([lambda n=n: Count(n) for n in (2, 5)], autoreset_mode=AutoresetMode.DISABLED)
envs.reset()
for _ in range(20):
    _, _, over, _, _ = envs.step(np.zeros(2, int))
    if over.any():
        envs.reset(options={"reset_mask": over})
"""


def test_a_reset_of_some_environments_leaves_the_others(profile: Profile) -> None:
    found = episodes_of(profile(MASKED))
    assert sums(found["training"]) == [10 + 4, 10 * -1.5 + 4 * -7.5, 40]


SB3 = """
import json, sys
import gymnasium as gym
from stable_baselines3 import PPO
from stable_baselines3.common.callbacks import EvalCallback
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv, VecNormalize

def main():
    kind = SubprocVecEnv if sys.argv[1] == "processes" else DummyVecEnv
    env = VecNormalize(make_vec_env("CartPole-v1", 2, seed=1, vec_env_cls=kind))
    shown = Monitor(gym.make("CartPole-v1"))
    evaluation = VecNormalize(DummyVecEnv([lambda: shown]), training=False, norm_reward=False)
    callback = EvalCallback(evaluation, eval_freq=200, n_eval_episodes=2, verbose=0, warn=False)
    PPO("MlpPolicy", env, n_steps=64, n_epochs=1, seed=1).learn(500, callback=callback)
    returns = [r for each in env.env_method("get_episode_rewards") for r in each]
    lengths = [n for each in env.env_method("get_episode_lengths") for n in each]
    tried = shown.get_episode_rewards()
    print(json.dumps([len(returns), sum(returns), sum(lengths)]))
    print(json.dumps([len(tried), sum(tried), sum(shown.get_episode_lengths())]))
    env.close()

if __name__ == "__main__":
    main()
"""


@pytest.mark.framework
@pytest.mark.skipif(find_spec("stable_baselines3") is None, reason="SB3 is not installed")
@pytest.mark.parametrize("kind", ["one", "processes"])
def test_sb3_returns_equal_its_monitor(profile: Profile, kind: str) -> None:
    """Raw and normalised rewards are separated, evaluation is apart, workers count once."""
    run = profile(SB3, kind)
    found = episodes_of(run)
    training, evaluation = (json.loads(line) for line in run.out.splitlines()[-2:])
    assert sums(found["training_raw"]) == training
    assert sums(found["evaluation_raw"]) == sums(found["evaluation"]) == evaluation
    # The program learns from normalised rewards: other returns, the same episodes.
    assert found["training"].length_sum == training[2]
    assert found["training"].sum != pytest.approx(training[1], rel=0.1)


SHAPED = """
import json, sys
import gymnasium as gym
import numpy as np
from gymnasium.wrappers import NormalizeReward, TransformReward
from gymnasium.wrappers import vector

found = [0, 0.0, 0]

class Count(gym.Wrapper):
    # A recorder that hotloop does not know.
    def reset(self, **options):
        self.total, self.length = 0.0, 0
        return self.env.reset(**options)

    def step(self, action):
        result = self.env.step(action)
        self.total, self.length = self.total + result[1], self.length + 1
        if result[2] or result[3]:
            found[0] += 1
            found[1] += self.total
            found[2] += self.length
            self.total = self.length = 0
        return result

class Own(gym.Wrapper):
    def step(self, action):
        obs, reward, *rest = self.env.step(action)
        return obs, reward - abs(float(obs[0])), *rest

def make():
    return Count(gym.make("CartPole-v1", max_episode_steps=25))

def stepped(env, envs):
    env.reset()
    for step in range(300):
        over = env.step(step % 2 if envs == 1 else np.full(envs, step % 2))[2:4]
        if envs == 1 and (any(over) or step % 100 == 50):
            env.reset()

kind = sys.argv[1]
if kind == "single":
    stepped(NormalizeReward(make()), 1)
elif kind == "own":
    stepped(Own(TransformReward(make(), lambda reward: reward * 2)), 1)
elif kind == "vector":
    stepped(vector.NormalizeReward(gym.vector.SyncVectorEnv([make] * 3)), 3)
elif kind == "inside":
    doubled = lambda: TransformReward(make(), lambda reward: reward * 2)
    stepped(gym.vector.SyncVectorEnv([doubled] * 3), 3)
else:
    from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize
    stepped(VecNormalize(DummyVecEnv([make] * 3)), 3)
print(json.dumps(found))
"""


@pytest.mark.parametrize("kind", ["single", "own", "vector", "inside", "VecNormalize"])
def test_raw_returns_below_wrappers_that_change_rewards(profile: Profile, kind: str) -> None:
    if kind == "VecNormalize" and find_spec("stable_baselines3") is None:
        pytest.skip("SB3 is not installed")
    run = profile(SHAPED, kind)
    found = episodes_of(run)
    assert sums(found["training_raw"]) == pytest.approx(json.loads(run.out.splitlines()[-1]))
    assert found["training"].length_sum == found["training_raw"].length_sum
    assert found["training"].sum != pytest.approx(found["training_raw"].sum, rel=0.05)


#: A wrapper for each episode, at the address of the one before, around one of several environments.
POOL = """
import gymnasium as gym
import numpy as np

class Level(gym.Env):
    observation_space, action_space = gym.spaces.Box(-1, 1, (2,)), gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.left = 10
        return np.zeros(2, np.float32), {}

    def step(self, action):
        self.left -= 1
        return np.zeros(2, np.float32), 1.0, self.left == 0, False, {}

class Small(gym.Wrapper):
    def step(self, action):
        observation, reward, terminated, truncated, info = self.env.step(action)
        return observation, reward * 0.01, terminated, truncated, info

for level in [Level() for _ in range(40)]:
    env = Small(level)
    env.reset()
    while not env.step(0)[2]:
        pass
"""


def test_episodes_of_which_nothing_was_seen_below_have_no_raw_return(profile: Profile) -> None:
    found = episodes_of(profile(POOL))
    assert found["training"].episodes == 40
    raw = found["training_raw"]
    assert 20 <= raw.episodes <= 40
    assert raw.sum == 10.0 * raw.episodes


PROCESSES = """
import gymnasium as gym
import numpy as np
from gymnasium.wrappers import vector

if __name__ == "__main__":
    env = vector.NormalizeReward(gym.make_vec("CartPole-v1", 2, vectorization_mode="async"))
    env.reset(seed=0)
    for step in range(150):
        env.step(np.full(2, step % 2))
    env.close()
"""


def test_raw_returns_of_environments_in_other_processes(profile: Profile) -> None:
    """CartPole gives 1 in every step: a return is a length."""
    returns = analyze(read_capture(profile(PROCESSES).capture)).returns
    assert returns.training.sum == returns.training.length_sum
    assert returns.shaped is not None
    assert returns.shaped.episodes == returns.training.episodes > 0
    assert not returns.only_shaped


TORCHRL = """
import json
from torchrl.envs import GymEnv, SerialEnv, TransformedEnv, RewardSum
env = TransformedEnv(SerialEnv(2, lambda: GymEnv("CartPole-v1")), RewardSum())
env.set_seed(0)
data = env.rollout(150, break_when_any_done=False)
over = data["next", "done"].squeeze(-1)
returns = data["next", "episode_reward"].squeeze(-1)[over]
# CartPole gives 1 in every step: a return is a length.
print(json.dumps([int(over.sum()), float(returns.sum()), float(returns.sum())]))
"""


@pytest.mark.framework
@pytest.mark.skipif(find_spec("torchrl") is None, reason="TorchRL is not installed")
def test_torchrl_returns_equal_its_reward_sum(profile: Profile) -> None:
    run = profile(TORCHRL)
    assert sums(episodes_of(run)["training"]) == json.loads(run.out)


OWN = """
import numpy as np

class Env:
    def __init__(self, reward):
        self.reward, self.steps = reward, 0
    def reset(self):
        self.steps = 0
        return np.zeros(4)
    def step(self, action):
        self.steps += 1
        return np.zeros(4), self.reward, self.steps >= 10, {}

class Odd:
    def __float__(self):
        raise RuntimeError("must not be asked")

for reward in (1.5, 2, np.float32(0.5), np.array([3.0]), np.array(4.0), float("nan"), None, Odd()):
    env = Env(reward)
    env.reset()
    for _ in range(50):
        if env.step(0)[2]:
            env.reset()
"""


def test_odd_rewards_of_own_environments_are_counted_as_unknown(profile: Profile) -> None:
    run = profile(OWN)
    assert run.code == 0
    assert run.err == ""
    found = episodes_of(run)["training"]
    assert sums(found) == [25, 50 * (1.5 + 2 + 0.5 + 3 + 4), 250]
    assert found.unknown == 15


def test_episodes_continue_while_many_environments_take_turns() -> None:
    context = HookContext(get_profiler())
    native, note = context.returns.native, context.steps.one
    core = get_profiler().core
    core.enable()
    envs = [object() for _ in range(1000)]
    for step in range(5):
        for env in envs:
            note((0, 1.0, step == 4, False, {}), env)
    core.disable()
    episodes, unknown, total, *_ = native.take()[0]
    assert (episodes, unknown, total) == (1000, 0, 5000.0)
    assert native.take() == {}


def test_keys_that_cannot_be_compared_are_left_to_python() -> None:
    class Key(str):
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            raise LookupError("not now")

    core = Core()
    core.enable()
    returns = _native.Returns(core, lambda env: 0, lambda info: [(2.0, 3)])
    step = _native.Steps(core, None, returns, lambda result: None, lambda *_: None, -1)
    info = {"episode": {Key("r"): 1.0, "l": 3}}
    step((0, 1.0, True, False, info), object())
    assert set(returns.take()) == {_native.TRAINING, _native.TRAINING_RAW}


def test_recent_mean_and_its_target() -> None:
    context = HookContext(get_profiler())
    native = context.returns.native
    reached: list[float] = []
    native.watch(50.0, lambda: reached.append(native.recent()[1]))
    get_profiler().core.enable()
    for value in range(200):
        native.ended(0, float(value), 1)
        if value == 8:
            assert native.recent() is None
        if value == 50:
            assert native.recent()[1] is None
    get_profiler().core.disable()
    mean, best, when = native.recent()
    # The last hundred: 100 to 199. All so far before that: 0 to 100 has the mean 50.
    assert mean == best == 149.5
    assert when > 0
    assert reached == [50.5]
    native.start_over()
    assert native.recent() is None


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_quantiles_are_close(scale: float) -> None:
    context = HookContext(get_profiler())
    native = context.returns.native
    values = [scale * (i - 300) for i in range(1001)]
    get_profiler().core.enable()
    for value in values:
        native.ended(0, value, 1)
    native.ended(0, math.inf, 1)
    get_profiler().core.disable()
    delta = EpisodeDelta(*native.take()[0])
    assert delta.unknown == 1
    for share in (0.05, 0.5, 0.95):
        exact = values[int(share * 1000)]
        assert delta.quantile(share) == pytest.approx(exact, rel=0.035)
    assert (delta.low, delta.high) == (values[0], values[-1])
    assert delta.deviation == pytest.approx(float(numpy.std(values)))


@pytest.mark.parametrize(
    ("info", "recorded"),
    [
        ({}, []),
        ({"episode": {"r": 3.5, "l": 4, "t": 0.1}}, [(3.5, 4)]),
        ([{"episode": {"r": 1.0, "l": 2}}, {}, {"episode": {"r": 2.0, "l": 3}}], [(1, 2), (2, 3)]),
        ({"episode": "first"}, []),
        ({"final_info": {"episode": {"r": 2.0, "l": 1}}}, [(2.0, 1)]),
        (None, []),
        ("text", []),
    ],
)
def test_what_recorders_note(info: Any, recorded: list[tuple[float, int]]) -> None:
    assert recorded_in(info) == recorded


def test_what_recorders_of_vectors_note() -> None:
    found = {"r": numpy.array([1.0, 2.0, 0.0]), "l": numpy.array([1, 2, 0])}
    info = {"episode": found, "_episode": numpy.array([True, True, False])}
    assert recorded_in(info) == [(1.0, 1), (2.0, 2)]


def test_a_damaged_row_costs_that_row(tmp_path: Path) -> None:
    from hotloop.capture.lines import read_window, window_line
    from hotloop.capture.records import Damage
    from hotloop.capture.window import Window

    good = EpisodeDelta(2, 0, 3.0, 5.0, 1.0, 2.0, 20, 5, 15, {1040: 1, 1056: 1})
    line = json.loads(window_line(Window(0, 0, 0, 10, episodes={"training": good})))
    damage = Damage()
    assert read_window(line, damage).episodes == {"training": good}
    line["r"]["evaluation"] = [1, 0, "x"]
    assert read_window(line, damage).episodes == {"training": good}
    assert damage.values == 1
