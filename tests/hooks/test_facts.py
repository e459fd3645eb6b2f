"""Facts beside times: counted in real programs, and leaving these as they are."""

from __future__ import annotations

import gc
import warnings
from typing import Any

import pytest
from conftest import Profile, Run

from hotloop.capture.reader import read_capture
from hotloop.hooks.facts import Facts, Places, calling_place
from hotloop.hooks.install import Hooks
from hotloop.measure.profiler import Profiler

TORCH = """
import gc, random, hashlib
import numpy as np, torch

class Env:
    def __init__(self): self.rng = np.random.default_rng(0)
    def reset(self): self.t = 0; return self.rng.normal(size=4).astype(np.float32)
    def step(self, action):
        self.t += 1
        return self.rng.normal(size=4).astype(np.float32), 1.0, self.t >= 50, {}

torch.manual_seed(0); random.seed(0)
env, obs = Env(), None
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
torch.set_num_threads(1)
memory, losses = [], []
obs = env.reset()
for step in range(1500):
    action = int(net(torch.from_numpy(obs)[None]).argmax())
    following, reward, done, _ = env.step(action)
    memory.append((obs, action, reward, following))
    obs = env.reset() if done else following
    if len(memory) >= 16:
        rows = random.sample(memory, 16)
        states = torch.tensor([row[0] for row in rows])  # the line of the list
        with torch.autograd.set_detect_anomaly(step % 2 == 0):
            loss = net(states).pow(2).mean()
            optimizer.zero_grad(); loss.backward(); optimizer.step()
        losses.append(loss)
    if step % 500 == 499:
        gc.collect()
data = b"".join(p.detach().numpy().tobytes() for p in net.parameters())
print(hashlib.sha256(data).hexdigest())
"""


def line_of(source: str, words: str) -> int:
    return next(i for i, line in enumerate(source.splitlines(), 1) if words in line)


def notes_of(run: Run) -> dict[str, Any]:
    assert run.capture is not None
    return read_capture(run.capture).main.notes


def gauges_of(run: Run) -> dict[str, float]:
    assert run.capture is not None
    found: dict[str, float] = {}
    for window in read_capture(run.capture).main.windows:
        found.update(window.gauges)
    return found


def test_a_torch_program_tells_its_facts_and_learns_the_same(profile: Profile) -> None:
    run = profile(TORCH)
    assert run.out == profile(TORCH, hotloop=False).out
    notes, counters, gauges = notes_of(run), run.report["run"]["counters"], gauges_of(run)
    assert notes["threads"]["torch"] == 1
    assert notes["networks"][0]["parameters"] == 4 * 16 + 16 + 16 * 2 + 2
    assert notes["networks"][0]["device"] == "cpu"
    assert notes["machine"]["cores"] >= 1
    assert counters["list_tensors"] == 1485
    assert 0 < counters["list_tensor_s"] < run.report["run"]["loop_s"]
    assert counters["gc_collects"] == 3
    assert counters["learn_events"] == pytest.approx(1485, abs=2)
    assert counters["acts_with_graph"] == counters["acts_seen"] > 10
    assert "act_graphs_used" not in counters
    lines = {what: places[0][1] for what, places in notes["places"].items()}
    assert lines["tensor of a list"] == line_of(TORCH, "the line of the list")
    assert lines["gc.collect"] == line_of(TORCH, "gc.collect()")
    assert lines["acts with a graph"] == line_of(TORCH, "action = int")
    assert lines["anomaly mode"] == line_of(TORCH, "set_detect_anomaly")
    assert not run.report.get("failures")
    assert not [each for each in notes.get("failures", {}) if each.startswith("fact")]
    if "anomaly_s" in gauges:  # the run may be over before the first full second
        assert 0 < gauges["anomaly_s"] < run.report["run"]["loop_s"]


AGENT = """
import gymnasium as gym
import torch


class Policy(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body = torch.nn.Linear(4, 2)

    def forward(self, x):
        return torch.distributions.Categorical(logits=self.body(x)), None


class Agent:
    def __init__(self):
        self.policy, self.memory = Policy(), []

    def get_action(self, obs):
        with torch.set_grad_enabled(GRADIENTS):
            distribution, _ = self.policy(torch.from_numpy(obs))
        return distribution.sample().item()

    def learn(self):
        optimizer.zero_grad()
        self.policy(torch.zeros(8, 4))[0].entropy().mean().backward()
        optimizer.step()


torch.set_num_threads(1)
env, agent = gym.make("CartPole-v1"), Agent()
optimizer = torch.optim.SGD(agent.policy.parameters(), 0.1)
obs, _ = env.reset(seed=0)
for step in range(640):
    obs, _, ended, cut, _ = env.step(agent.get_action(obs))
    if ended or cut:
        obs, _ = env.reset()
    if step % 16 == 15:
        agent.learn()
"""


@pytest.mark.parametrize("gradients", [True, False])
def test_graphs_inside_an_agents_own_act_are_seen(profile: Profile, gradients: bool) -> None:
    run = profile(AGENT.replace("GRADIENTS", str(gradients)))
    counters = run.report["run"]["counters"]
    assert run.report["shapes"] == {"policy.act": ["__main__:Agent.get_action"]}
    assert counters["acts_seen"] >= 10
    assert counters.get("acts_with_graph", 0) == (counters["acts_seen"] if gradients else 0)
    assert "act_graphs_used" not in counters


LISTS = """
import numpy as np
import torch

rows = [(np.ones(4), np.float64(1.0)) for _ in range(8)]
states, rewards = zip(*rows)
for _ in range(3):
    torch.tensor(rewards)  # single numbers
    torch.tensor([1.0, 2.0])
    torch.tensor(states)  # a tuple of arrays
    torch.as_tensor([list(states), list(states)])  # a list of lists of arrays
"""


def test_tuples_and_nested_lists_of_arrays_are_counted_and_single_numbers_not(
    profile: Profile,
) -> None:
    run = profile(LISTS)
    assert run.report["run"]["counters"]["list_tensors"] == 6
    lines = {row[1] for row in notes_of(run)["places"]["tensor of a list"]}
    assert lines == {line_of(LISTS, "a tuple of arrays"), line_of(LISTS, "a list of lists")}


def test_the_warning_still_names_the_programs_line(profile: Profile) -> None:
    run = profile(TORCH)
    (said,) = [line for line in run.err.splitlines() if "Creating a tensor from a list" in line]
    assert f"program_1.py:{line_of(TORCH, 'the line of the list')}" in said


POLICY_GRADIENT = """
import numpy as np, torch
from torch.distributions import Categorical
torch.manual_seed(0)
class Env:
    def reset(self): self.t = 0; return np.zeros(4, np.float32)
    def step(self, action):
        self.t += 1
        return np.full(4, self.t / 50, np.float32), 1.0, self.t >= 20, {}
env = Env()
net = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 2))
optimizer = torch.optim.Adam(net.parameters(), 1e-3)
for episode in range(60):
    obs, done, logs = env.reset(), False, []
    while not done:
        policy = Categorical(logits=net(torch.from_numpy(obs)))
        action = policy.sample()
        logs.append(policy.log_prob(action))
        obs, reward, done, _ = env.step(int(action))
    loss = -torch.stack(logs).sum()
    optimizer.zero_grad(); loss.backward(); optimizer.step()
"""


ACTS_AND_LEARNS = """
import numpy as np, torch
from torch.distributions import Categorical

class Env:
    def reset(self): self.t = 0; return np.zeros(4, np.float32)
    def step(self, action):
        self.t += 1
        return np.full(4, self.t / 50, np.float32), 1.0, self.t >= 20, {}
class Agent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = torch.nn.Linear(4, 16), torch.nn.Linear(16, 2)
    def pi(self, x):
        return torch.softmax(self.head(torch.relu(self.body(x))), -1)
def train():
    for _ in range(3):
        chosen = agent.pi(torch.tensor(np.array(states)))
        loss = -chosen.log().mean()
        optimizer.zero_grad(); loss.backward(); optimizer.step()
torch.manual_seed(0)
env, agent = Env(), Agent()
optimizer = torch.optim.Adam(agent.parameters(), 1e-3)
for episode in range(120):
    state, done, states = env.reset(), False, []
    while not done:
        action = Categorical(agent.pi(torch.from_numpy(state))).sample()  # the act
        states.append(state)
        state, reward, done, _ = env.step(int(action))
    train()
"""


def test_a_method_that_acts_and_learns_is_not_where_gradients_can_go(profile: Profile) -> None:
    """Without gradients in `pi` nothing would be learned any more; its caller that acts may."""
    run = profile(ACTS_AND_LEARNS)
    found = read_capture(run.capture).main.notes["places"]["acts with a graph"]
    act = 1 + [*ACTS_AND_LEARNS.splitlines()].index(
        next(line for line in ACTS_AND_LEARNS.splitlines() if "# the act" in line)
    )
    assert [line for _, line, _ in found] == [act]


def test_a_policy_gradient_goes_back_through_its_actions(profile: Profile) -> None:
    counters = profile(POLICY_GRADIENT).report["run"]["counters"]
    assert counters["act_graphs_watched"] > 10
    assert counters["act_graphs_used"] > 10


UNTOUCHED = """
import numpy as np, torch

@torch.jit.script
def scripted(x: torch.Tensor):
    return x + torch.tensor([1.0, 2.0])

print(scripted(torch.zeros(2)).tolist())

@torch.jit.script
def slope(x: torch.Tensor):
    return torch.autograd.grad([(x * x).sum()], [x])

print(slope(torch.ones(2, requires_grad=True)))

@torch.compile(backend="eager", fullgraph=True)
def compiled(x):
    return x * torch.as_tensor([3.0, 4.0]) + torch.tensor(1.0)

print(compiled(torch.ones(2)).tolist())
with torch.device("meta"):
    print(torch.tensor([1.0]).device, torch.as_tensor([2.0]).device)
print(torch.tensor([np.zeros(2), np.ones(2)]).tolist(), torch.tensor([]).shape)
try:
    torch.tensor([np.zeros(2), np.ones(3)])
except ValueError as error:
    print(error)
"""


def test_makers_of_tensors_stay_what_they_are(profile: Profile) -> None:
    assert profile(UNTOUCHED).out == profile(UNTOUCHED, hotloop=False).out


RESTING = """
import numpy as np, torch
from hotloop import get_profiler
from hotloop.hooks import transfers
from hotloop.hooks.torch_facts import Lists

transfers.can_leave_cpu = lambda torch: False
get_profiler().enable()

class Facts:
    gauges = {}
    timed = staticmethod(lambda name, what, call, args, kwargs: call(*args, **kwargs))

class Graphs:
    backwards = 0

own = torch.tensor, torch.as_tensor
def is_on():
    return (torch.tensor, torch.as_tensor) != own

def lists():
    hook = Lists(Facts, Graphs)
    hook.put_on(torch)
    return hook

hook = lists()
hook.look()
assert is_on(), "nothing was learned yet"
Graphs.backwards = 1000
torch.tensor([1.0]), torch.as_tensor(np.ones(3))
later = torch.compile(lambda x: x + torch.tensor([1.0]), backend="eager", fullgraph=True)
hook.look()
assert not is_on(), "it learned without a list"
assert later(torch.zeros(1)) == 1, "what compiles later finds torch's own"
hook = lists()
torch.tensor([np.ones(3)])
hook.look()
assert is_on(), "there was a list"
hook.take_off()
hook = lists()
Facts.gauges = {"compiles": 1}
hook.look()
assert is_on(), "a graph was compiled with it"
torch.tensor = other = lambda *args: own[0](*args)
hook.take_off()
assert torch.tensor is other and torch.as_tensor is own[1], "what the program put there stays"

torch.tensor = own[0]
Facts.gauges = {}
transfers.can_leave_cpu = lambda torch: True
hook = lists()
hook.look()
assert is_on(), "tensors may be made elsewhere"
torch.tensor([1.0], device="meta"), torch.as_tensor(np.ones(3), device=torch.device("meta"))
torch.tensor([1.0], device="cpu"), torch.tensor(2.0), torch.as_tensor(np.ones(2), device="cpu:0")
print(get_profiler().close_window().counters["transfers"])
print("done")
"""


def test_makers_of_tensors_are_given_back_when_no_list_ever_comes(profile: Profile) -> None:
    assert profile(RESTING, hotloop=False).out == "2\ndone\n"


KERAS = """
import os
os.environ["KERAS_BACKEND"] = "tensorflow"
import keras, numpy as np, tensorflow as tf
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(2)])
model.compile("adam", "mse")
for i in range(6):
    model.predict(np.zeros((3, 4), np.float32), verbose=0)  # here
model.train_on_batch(np.zeros((5, 4), np.float32), np.zeros((5, 2), np.float32))

@tf.function
def again(x, number):  # traced
    return x * number

for i in range(7):
    again(tf.ones(3), float(i))
"""


def test_a_keras_program_tells_its_facts(profile: Profile) -> None:
    pytest.importorskip("keras")
    pytest.importorskip("tensorflow")
    run = profile(KERAS)
    counters, notes = run.report["run"]["counters"], notes_of(run)
    assert counters["predict_calls"] == 6
    assert counters["predict_rows"] == 18
    assert counters["predict_s"] > 0
    assert counters["retraces"] >= 6  # Keras may trace again for itself
    assert notes["keras_networks"][0]["parameters"] == 4 * 8 + 8 + 8 * 2 + 2
    assert notes["places"]["predict"][0][1] == line_of(KERAS, "# here")
    called = [place[1] for place in notes["places"]["retracing call"]]
    assert line_of(KERAS, "again(tf.ones(3)") in called


# -- parts --


def test_places_are_looked_up_rarely() -> None:
    places = Places()
    for _ in range(1000):
        places.note("x", 0)
    ((file, _, function),) = places.notes()["x"]
    assert (file, function) == (__file__, "test_places_are_looked_up_rarely")


def test_a_place_is_the_programs_not_a_librarys() -> None:
    found = next(iter(map(lambda _: calling_place(0), [1])))  # noqa: C417
    assert found is not None
    assert found[0] == __file__


def test_everything_is_taken_off_again() -> None:
    collect, show = gc.collect, warnings._showwarnmsg  # type: ignore[attr-defined]
    profiler = Profiler()
    hooks = Hooks(profiler, {})
    facts = Facts(hooks, profiler)
    facts.install()
    assert gc.collect is not collect
    assert gc.collect(0) >= 0
    hooks.uninstall()
    assert gc.collect is collect
    assert warnings._showwarnmsg is show  # type: ignore[attr-defined]


def test_a_fact_that_fails_is_dropped_and_named() -> None:
    profiler = Profiler()
    hooks = Hooks(profiler, {})
    facts = Facts(hooks, profiler)
    calls = []

    def broken() -> None:
        calls.append(1)
        raise RuntimeError("no such file")

    facts.add(look=broken)
    facts.look()
    facts.look()
    assert len(calls) == 1
    assert any("no such file" in error for error in hooks.failures.values())


ACTS_TWICE = """
import torch
class Env:
    def reset(self): self.t = 0; return torch.zeros(4)
    def step(self, action):
        self.t += 1
        return torch.randn(4), 1.0, self.t >= 20, {}
class Agent:
    def __init__(self):
        self.actor, self.critic = torch.nn.Linear(4, 2), torch.nn.Linear(4, 1)
        self.optimizer = torch.optim.Adam(self.actor.parameters(), 1e-3)
        self.logs = []
    def act(self, state):
        policy = torch.distributions.Categorical(logits=self.actor(state))
        self.critic(state).item()
        action = policy.sample()
        self.logs.append(policy.log_prob(action))
        return int(action)
    def learn(self):
        self.optimizer.zero_grad(); (-torch.stack(self.logs).sum()).backward(); self.optimizer.step()
        self.logs = []
torch.manual_seed(0)
env, agent = Env(), Agent()
for episode in range(60):
    state, done = env.reset(), False
    while not done:
        state, reward, done, _ = env.step(agent.act(state))
    agent.learn()
"""


def test_each_network_of_an_act_has_its_turn(profile: Profile) -> None:
    counters = profile(ACTS_TWICE).report["run"]["counters"]
    assert counters["act_graphs_used"] > 5


ODD_ANSWER = """
import torch
class Answer:
    @property
    def grad_fn(self): raise RuntimeError("not now")
class Network(torch.nn.Module):
    def forward(self, x): return Answer()
class Agent:
    def __init__(self): self.network = Network()
    def act(self, state):
        self.network(state)
        return 0
    def remember(self, state, action, reward, done): ...
    def learn(self): ...
agent = Agent()
for step in range(200):
    agent.act(torch.zeros(1, 4))
print("finished")
"""


def test_an_answer_that_cannot_be_looked_at_stops_nothing(profile: Profile) -> None:
    assert profile(ODD_ANSWER).out == "finished\n"
