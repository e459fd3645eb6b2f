"""PyTorch's places on programs without a library: what is counted, timed, and left as it was."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

Profile = Callable[..., Any]

BEGIN = """
import sys, threading, torch
from torch import nn
torch.manual_seed(0)
torch.set_num_threads(1)
net = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2))
"""

ROUNDS = {
    # Three optimizers that step in turn are one gradient step, on the same rows.
    "in turn": """
nets = [nn.Linear(4, 2) for _ in range(3)]
optimizers = [torch.optim.Adam(net.parameters()) for net in nets]
for _ in range(7):
    batch = torch.randn(64, 4)
    for net, optimizer in zip(nets, optimizers):
        optimizer.zero_grad()
        net(batch).square().mean().backward()
        optimizer.step()
""",
    # The second steps every other time only.
    "delayed": """
nets = [nn.Linear(4, 2) for _ in range(2)]
optimizers = [torch.optim.Adam(net.parameters()) for net in nets]
for step in range(7):
    for net, optimizer in list(zip(nets, optimizers))[: 1 + step % 2]:
        optimizer.zero_grad()
        net(torch.randn(64, 4)).square().mean().backward()
        optimizer.step()
""",
    # Two networks see the same batch.
    "two networks": """
nets = [nn.Linear(4, 2) for _ in range(2)]
optimizer = torch.optim.SGD([p for net in nets for p in net.parameters()], lr=0.1)
for _ in range(7):
    batch = torch.randn(64, 4)
    optimizer.zero_grad()
    sum(net(batch).square().mean() for net in nets).backward()
    optimizer.step()
""",
    # Gradients of four small batches.
    "accumulated": """
optimizer = torch.optim.Adam(net.parameters())
for _ in range(7):
    optimizer.zero_grad()
    for _ in range(4):
        net(torch.randn(16, 4)).square().mean().backward()
    optimizer.step()
""",
    # Twice through the same network, as in double DQN; the target has no gradients.
    "twice": """
optimizer = torch.optim.Adam(net.parameters())
for _ in range(7):
    with torch.no_grad():
        target = net(torch.randn(64, 4))
    loss = (net(torch.randn(64, 4)) - target).square().mean() + net(torch.randn(64, 4)).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
""",
    # Sequences: the network computes on every timestep of every batch entry.
    "sequences": """
optimizer = torch.optim.Adam(net.parameters())
recurrent = nn.GRU(4, 2)
for _ in range(7):
    optimizer.zero_grad()
    (net(torch.randn(8, 8, 4)).mean() + recurrent(torch.randn(16, 4, 4))[0].mean()).backward()
    optimizer.step()
""",
    # Three dimensions of one batch entry each: a stack of signals.
    "signals": """
convolution = nn.Sequential(nn.Conv1d(4, 2, 3), nn.Flatten(), nn.Linear(16, 4))
optimizer = torch.optim.Adam(convolution.parameters())
for _ in range(7):
    optimizer.zero_grad()
    convolution(torch.randn(64, 4, 10)).square().mean().backward()
    optimizer.step()
""",
    # An optimizer of the program's own that calls its parent's step.
    "own optimizer": """
class Own(torch.optim.Adam):
    def step(self, closure=None):
        return super().step(closure)
optimizer = Own(net.parameters())
for _ in range(7):
    optimizer.zero_grad()
    net(torch.randn(64, 4)).square().mean().backward()
    optimizer.step()
""",
}


@pytest.mark.parametrize("what", ROUNDS)
def test_gradient_steps_and_rows(profile: Profile, what: str) -> None:
    run = profile(BEGIN + ROUNDS[what])
    assert run.counter("gradient_steps") == 7
    assert run.counter("samples") == 7 * 64


def test_a_closure_is_inside_its_optimizer(profile: Profile) -> None:
    run = profile(
        BEGIN
        + """
optimizer = torch.optim.LBFGS(net.parameters(), max_iter=4)
batch = torch.randn(8, 4)
def closure():
    optimizer.zero_grad()
    loss = net(batch).square().mean()
    loss.backward()
    return loss
for _ in range(3):
    optimizer.step(closure)
"""
    )
    assert run.counter("gradient_steps") == 3
    assert "learn.optimizer/learn.backward" in run.paths
    assert "learn.optimizer/learn.forward" in run.paths


def test_a_step_that_raises_leaves_nothing_open(profile: Profile) -> None:
    run = profile(
        BEGIN
        + """
class Failing(torch.optim.SGD):
    def step(self, closure=None):
        raise ArithmeticError("no step today")
optimizer = Failing(net.parameters(), lr=0.1)
for _ in range(3):
    net(torch.randn(8, 4)).square().mean().backward()
    try:
        optimizer.step()
    except ArithmeticError as error:
        print(error)
torch.autograd.grad(net(torch.randn(8, 4)).sum(), list(net.parameters()))
"""
    )
    assert run.out.splitlines() == ["no step today"] * 3
    assert run.counter("gradient_steps") == 0
    assert "learn.backward" in run.paths
    left = [path for path in run.paths if path.startswith("learn.optimizer/")]
    assert set(left) <= {"learn.optimizer/import"}, run.table()


def test_a_network_is_one_call_whatever_is_in_it(profile: Profile) -> None:
    run = profile(
        BEGIN
        + """
from hotloop import profile
with torch.no_grad():
    net(torch.zeros(1, 4))
with profile("env.step"):  # what begins the loop
    pass
for _ in range(20):
    with torch.no_grad():
        net(torch.zeros(1, 4))
with profile("env.step"):
    pass
torch.save(net.state_dict(), "net.pt")
"""
    )
    assert run.calls("policy.act") == 20
    assert run.report["phases"] or run.report["after"]
    names = {phase["name"] for key in ("phases", "after") for phase in run.report[key]}
    assert "checkpoint" in names


def test_threads_that_call_networks_have_calls_of_their_own(profile: Profile) -> None:
    run = profile(
        BEGIN
        + """
from hotloop import profile
with profile("env.step"):
    pass
def act():
    with torch.no_grad():
        for _ in range(50):
            net(torch.zeros(1, 4))
act()
threads = [threading.Thread(target=act) for _ in range(2)]
for thread in threads: thread.start()
for thread in threads: thread.join()
act()
with profile("env.step"):
    pass
"""
    )
    calls: dict[str, int] = {}
    for phase in run.phases:
        if phase["name"] == "policy.act":
            calls[phase["thread"]] = calls.get(phase["thread"], 0) + phase["calls"]
    assert calls.pop("main") == 100
    # The first calls of a thread may fall into the last of the other: none is counted twice.
    assert 90 <= sum(calls.values()) <= 100


COMPILED = {
    "hooks on a module": "net[0].register_forward_hook(lambda *_: None)\nfunction = net",
    "moves": "def function(x):\n    return net(x).to(torch.float64).cpu() * 2",
    "a train step": """
optimizer = torch.optim.SGD(net.parameters(), lr=torch.tensor(0.1))
def function(x):
    return net(x).square().mean()
""",
}


@pytest.mark.parametrize("what", COMPILED)
def test_compiled_graphs_stay_whole(profile: Profile, what: str) -> None:
    source = (
        BEGIN
        + COMPILED[what]
        + """
torch._dynamo.reset()
compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
for _ in range(3):
    out = compiled(torch.ones(8, 4))
print(torch._dynamo.utils.counters["graph_break"], torch._dynamo.utils.counters["stats"])
print(float(out.sum().detach()))
"""
    )
    assert profile(source).out == profile(source, hotloop=False).out


BROKEN = """
torch._dynamo.reset()
kinds = (torch.optim.Adam, torch.optim.SGD, type("Own", (torch.optim.Adam,), {}))
for kind in kinds:
    net = nn.Linear(4, 2)
    optimizer = kind(net.parameters(), 1e-3)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer) if kind is kinds[1] else None

    def update(x):
        optimizer.zero_grad()
        loss = net(x).pow(2).mean()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        optimizer.step()
        return loss

    torch._dynamo.utils.counters.clear()
    compiled = torch.compile(update, backend="eager")
    for _ in range(4):
        loss = compiled(torch.ones(8, 4))
        if scheduler is not None:
            scheduler.step()
    breaks = sum(torch._dynamo.utils.counters["graph_break"].values())
    print(kind.__name__, breaks, dict(torch._dynamo.utils.counters["stats"]), float(loss.detach()))
"""


def test_an_update_that_cannot_be_one_graph_has_no_more_parts_than_without(
    profile: Profile,
) -> None:
    """What hooks note between the parts is not compiled with them."""
    run = profile(BEGIN + BROKEN)
    assert run.out == profile(BEGIN + BROKEN, hotloop=False).out
    # Twelve, unless another optimizer's first step is taken for one of the round before it.
    assert run.report["run"]["counters"]["gradient_steps"] == 12


def test_everything_can_be_taken_off_again(profile: Profile) -> None:
    source = """
import torch
from torch import nn
from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks

class Own(torch.optim.Adam):
    def step(self, closure=None):
        return super().step(closure)

def places():
    yield from (torch.autograd.backward, torch.save)
    yield from (torch.autograd.grad, torch.optim.Optimizer.zero_grad, torch.optim.Adam.step)
    yield from (nn.utils.clip_grad_norm_, nn.utils.clip_grad.clip_grad_norm_, Own.step)
    yield from (torch.Tensor.item, torch.Tensor.to, torch.Tensor.numpy)

call = nn.Module.__call__
net = nn.Linear(2, 1)
Own(net.parameters())  # torch puts a wrapper of its own around the first one's step
before = list(places())
hooks = Hooks(HookContext(get_profiler()))
hooks.install()
assert nn.Module.__call__ is call, "compilers look for torch's own"

def phases():
    get_profiler().enable()
    for kind in (Own, torch.optim.AdamW):
        net(torch.ones(3, 2)).sum().backward()
        kind(net.parameters()).step()
    window = get_profiler().close_window()
    return {name for name, phase in window.phases.items() if phase.calls and "learn" in name}

assert {"learn.forward", "learn.backward", "learn.optimizer"} <= phases(), "hooks are on"
hooks.uninstall()
print([str(a) for a, b in zip(before, places()) if a is not b and a != b], hooks.failures, phases())
"""
    assert profile(source, hotloop=False).out == "[] {} set()\n"


def test_reading_tensors_is_counted(profile: Profile) -> None:
    run = profile(
        BEGIN
        + """
x = torch.ones(3)
for _ in range(10):
    x.sum().item(); x.numpy(); x.tolist()
"""
    )
    assert run.counter("transfers") == 30
    assert run.counter("syncs") == 0
    assert "transfer" not in run.paths


def test_methods_of_tensors_stay_what_programs_make_of_them(profile: Profile) -> None:
    source = """
import copy, pickle, torch
from torch import nn

read = torch.Tensor.tolist
print(copy.deepcopy(read)(torch.ones(2)), pickle.loads(pickle.dumps(read))(torch.ones(2)))
print(read.__name__, len(torch.Tensor.item.__doc__))
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
batch = torch.export.Dim("batch")
exported = torch.export.export(net, (torch.ones(5, 4),), dynamic_shapes=({0: batch},))
print(exported.module()(torch.ones(9, 4)).shape)
"""
    assert profile(source).out == profile(source, hotloop=False).out


def test_a_read_under_a_default_device_is_one(profile: Profile) -> None:
    run = profile(
        BEGIN
        + """
torch.set_default_device("cpu")
x = torch.ones(3)
for _ in range(10):
    x.sum().item()
"""
    )
    assert run.counter("transfers") == 10
