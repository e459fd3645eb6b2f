"""Lists made into tensors, and warnings of torch."""

from __future__ import annotations

import pytest
from profiling import Profile, Run
from telemetry_programs import line_of, notes_of

from hotloop.analyze.processes.training import read_capture

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


def gauges_of(run: Run) -> dict[str, float]:
    assert run.capture is not None
    found: dict[str, float] = {}
    for window in read_capture(run.capture).main.windows:
        found.update(window.gauges)
    return found


@pytest.mark.real_time
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
from hotloop.hooks.context import HookContext
from hotloop.hooks.telemetry import transfers
from hotloop.hooks.telemetry.torch import Lists

transfers.can_leave_cpu = lambda torch: False
get_profiler().enable()

telemetry = HookContext(get_profiler()).telemetry
original = get_profiler().core.original

class Graphs:
    backwards = 0

own = torch.tensor, torch.as_tensor
def is_on():
    assert (torch.tensor, torch.as_tensor) == own, "the objects stay"
    return [original(function) is not function for function in own] == [True, True]

def lists():
    hook = Lists(telemetry, Graphs)
    hook.install(torch)
    return hook

hook = lists()
hook.read()
assert is_on(), "nothing was learned yet"
Graphs.backwards = 1000
torch.tensor([1.0]), torch.as_tensor(np.ones(3))
later = torch.compile(lambda x: x + torch.tensor([1.0]), backend="eager", fullgraph=True)
hook.read()
assert not is_on(), "it learned without a list"
assert later(torch.zeros(1)) == 1, "what compiles later finds torch's own"
hook = lists()
torch.tensor([np.ones(3)])
hook.read()
assert is_on(), "there was a list"
hook.remove()
hook = lists()
torch.tensor = other = lambda *args: own[0](*args)
hook.remove()
assert torch.tensor is other and torch.as_tensor is own[1], "what the program put there stays"
torch.tensor = own[0]

transfers.can_leave_cpu = lambda torch: True
hook = lists()
hook.read()
assert is_on(), "tensors may be made elsewhere"
torch.tensor([1.0], device="meta"), torch.as_tensor(np.ones(3), device=torch.device("meta"))
torch.tensor([1.0], device="cpu"), torch.tensor(2.0), torch.as_tensor(np.ones(2), device="cpu:0")
print(get_profiler().close_window().counters["transfers"])
print("done")
"""


def test_makers_of_tensors_are_given_back_when_no_list_ever_comes(profile: Profile) -> None:
    assert profile(RESTING, hotloop=False).out == "2\ndone\n"
