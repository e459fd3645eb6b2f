"""JAX: dispatch, compiling and waiting apart, and a loop that has no phases in Python."""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from hotloop import Profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.jitted import Jitted
from hotloop.hooks.libraries import jax_loops

pytest.importorskip("jax")

pytestmark = pytest.mark.framework

PROGRAMS = Path(__file__).parents[1] / "own_programs"


#: Code between two events that nothing identifies is not covered: it is unexplained.
MOSTLY_IDENTIFIED = 0.85


@pytest.mark.real_time
def test_dqn(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_dqn.py", "1500")
    assert run.out == profile(PROGRAMS / "jax_dqn.py", "1500", hotloop=False).out
    steps, episodes, updates = map(int, run.out.split()[:3])
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("gradient_steps") == updates
    assert run.counter("samples") == updates * 64
    assert run.calls("learn.step") == updates
    assert run.calls("wait") > 0
    assert run.calls("transfer") > 0
    run.check_accounted()


def test_ppo_with_a_loop_in_python(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_ppo.py")
    assert run.out == profile(PROGRAMS / "jax_ppo.py", hotloop=False).out
    steps, episodes, updates = map(int, run.out.split()[:3])
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("gradient_steps") == updates
    assert run.counter("samples") == updates * 128
    assert {"policy.act", "advantage", "learn.step", "env.step"} <= {p["name"] for p in run.phases}
    assert run.report["notes"] == []


@pytest.mark.real_time
def test_whole_loop_under_one_jit_is_said(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_whole_loop.py")
    assert any("train" in note and "whole training loop" in note for note in run.report["notes"])
    invented = {"learn", "learn.step", "env.step", "policy.act", "collect"}
    assert not invented & {p["name"] for p in run.phases}
    assert run.calls("loop.compiled") >= 1
    run.check_accounted()
    assert any(p["path"] == "jax.train/compile" for p in run.report["startup"])


def test_steps_of_a_compiled_loop_are_counted_from_its_sizes(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_scanned_envs.py")
    assert run.counter("env_steps") == 3 * 4 * 5 * 6  # calls, updates, steps, environments
    assert any("lengths of its scans" in note for note in run.report["notes"])


def test_steps_in_a_loop_of_unknown_length_are_not_counted(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_scanned_envs.py", "until-done")
    assert run.counter("env_steps") == 0
    assert any("cannot be counted" in note for note in run.report["notes"])


def test_long_compiling_without_a_cache_is_said(tmp_path: Path) -> None:
    jax = pytest.importorskip("jax")
    compiled = jax_loops.CompileTime()
    compiled.seconds = jax_loops.WORTH_A_CACHE_S
    assert "JAX_COMPILATION_CACHE_DIR" in compiled.remarks()[0]
    jax.config.update("jax_compilation_cache_dir", str(tmp_path))
    try:
        assert compiled.remarks() == []
    finally:
        jax.config.update("jax_compilation_cache_dir", None)


def test_a_whole_loop_that_nobody_reads_is_waited_for(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_unread_loop.py")
    assert any("update_many" in note and "whole training" in note for note in run.report["notes"])
    # What is traced is not done: no environment was stepped from Python.
    assert run.counter("env_steps") == 0
    assert [p["name"] for p in run.phases] == ["loop.compiled"], run.table()
    assert run.seconds("loop.compiled") > 0.1


@pytest.mark.real_time
def test_an_agent_that_acts_and_learns_in_one_call(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_agent.py")
    assert run.out == profile(PROGRAMS / "jax_agent.py", hotloop=False).out
    steps, episodes, _ = map(float, run.out.split())
    assert run.counter("env_steps") == run.counter("gradient_steps") == steps
    assert run.counter("samples") == 0, "its batches are drawn inside"
    assert run.counter("episodes") == episodes
    assert any("_agent_step" in note and "next action" in note for note in run.report["notes"])
    assert run.seconds("advantage") < 0.01 * run.seconds("policy.act"), run.table()
    run.check_accounted(MOSTLY_IDENTIFIED)


@pytest.mark.real_time
def test_random_numbers_are_a_part_of_what_they_are_drawn_for(profile: Any) -> None:
    run = profile(PROGRAMS / "jax_online.py")
    steps, episodes, updates = map(int, run.out.split())
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == episodes
    assert run.counter("gradient_steps") == run.calls("learn.step") == updates
    assert run.counter("samples") == steps
    assert not any("next action" in note for note in run.report["notes"])
    run.check_accounted(MOSTLY_IDENTIFIED)


@pytest.mark.real_time
def test_flax_and_optax_outside_of_jit(profile: Any) -> None:
    pytest.importorskip("flax")
    pytest.importorskip("optax")
    run = profile(PROGRAMS / "jax_flax_eager.py")
    steps, updates = map(int, run.out.split())
    assert run.counter("env_steps") == steps
    assert run.counter("gradient_steps") == run.calls("learn.optimizer") == updates
    assert run.calls("policy.act") == steps + 24 - 1, "and the first is before the loop"
    run.check_accounted()


@pytest.mark.real_time
def test_what_nnx_does_around_a_jitted_call(profile: Any) -> None:
    pytest.importorskip("flax")
    pytest.importorskip("optax")
    run = profile(PROGRAMS / "jax_nnx.py")
    assert run.out == profile(PROGRAMS / "jax_nnx.py", hotloop=False).out
    steps, updates, _ = map(float, run.out.split())
    assert run.counter("env_steps") == steps
    assert run.counter("gradient_steps") == run.calls("learn.step") == updates
    assert run.counter("samples") == 32 * updates
    assert run.seconds("flax.nnx") > run.seconds("learn.target"), run.table()
    assert run.coverage >= MOSTLY_IDENTIFIED, run.table()


FUNCTION = """
import random
import gymnasium as gym, jax, jax.numpy as jnp, numpy as np

env = gym.make("CartPole-v1")
params = jnp.ones((4, 2)) / 4

def q_values(params, x):
    return jnp.tanh(x @ params)

obs, _ = env.reset(seed=0)
acted = 0
for step in range(2000):
    if step % 4:
        action = int(jnp.argmax(q_values(params, obs)))
        acted += 1
    else:
        action = step % 2
    obs, reward, ended, cut, _ = env.step(action)
    if ended or cut:
        obs, _ = env.reset()
print(acted)
"""


def test_a_network_that_is_a_function_of_its_weights(profile: Any) -> None:
    run = profile(FUNCTION)
    assert run.calls("policy.act") == int(run.out), run.table()


APART = """
import jax, jax.numpy as jnp, numpy as np

@jax.jit
def update(params, observations, actions, rewards):
    def loss(p):
        return (((observations @ p)[:, 0] - rewards) ** 2).mean()
    value, gradient = jax.value_and_grad(loss)(params)
    return params - 0.1 * gradient

params = jnp.ones((4, 1))
for _ in range(20):
    batch = np.ones((128, 4), "f"), np.zeros((128, 1), "i"), np.zeros(128, "f")
    params = update(params, *batch)
"""


def test_a_batch_whose_arrays_are_given_one_by_one(profile: Any) -> None:
    run = profile(APART)
    assert run.counter("gradient_steps") == 20
    assert run.counter("samples") == 20 * 128
    # The program's own function and the compiled one inside it are one update.
    assert run.calls("learn") == run.calls("learn.step") == 20


ASYNCHRONOUS = """
import time
import jax, jax.numpy as jnp

@jax.jit
def work(x):
    for _ in range(8):
        x = jnp.tanh(x @ x)
    return x

x = jnp.ones((700, 700)) / 700
work(x).block_until_ready()
begin = time.perf_counter()
for _ in range(5):
    work(x).block_until_ready()
print(time.perf_counter() - begin)
"""


@pytest.mark.real_time
def test_dispatch_is_not_compute(profile: Any) -> None:
    run = profile(ASYNCHRONOUS)
    spent = float(run.out)
    # Most of the work is waited for; what compiling took is apart from both.
    assert run.seconds("wait") > 0.5 * spent
    assert run.seconds("jax.work") < 0.5 * spent
    assert run.seconds("compile") > 0


HANDLED = """
import functools
import jax, jax.numpy as jnp

class Model:
    def __init__(self): self.k = 2.0
    @functools.partial(jax.jit, static_argnums=0)
    def scale(self, x): return x * self.k

@jax.jit
def f(x): return x ** 2

@jax.jit(static_argnames="n")
def power(x, n): return x ** n

x = jnp.arange(3.0)
print(Model().scale(x), f(x), power(x, n=3))
print(jax.vmap(f)(x), jax.grad(lambda v: f(v).sum())(x), jax.jit(f)(x), jax.jacobian(f)(x)[2, 2])
print(jax.lax.scan(lambda c, v: (c + f(v), c), 0.0, x)[0], f.lower(x).compile()(x))
print(f.__name__, f._cache_size(), jax.value_and_grad(lambda v: f(v).sum(), has_aux=False)(x)[0])
print(jax.hessian(lambda v: f(v).sum())(x)[0, 0], float(f(2.0)), f(x).tolist(), jax.device_get(x))
"""


def test_jitted_functions_can_be_handled_as_before(profile: Any) -> None:
    assert profile(HANDLED).out == profile(HANDLED, hotloop=False).out


PURE = """
import functools, os
os.environ["HOTLOOP_PURE"] = "1"
import jax
from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
hooks = Hooks(HookContext(get_profiler()), {"jax": ("jax",)})
hooks.install()
f = jax.jit(lambda x: x + 1)
g = functools.partial(jax.jit, static_argnames="n")(lambda x, n: x * n)
print(type(f).__name__, f(1), g(2, n=3), f.__name__, f._cache_size(), f.lower(1).compile()(1))
"""


def test_without_the_native_core_they_are_replaced(profile: Any) -> None:
    assert profile(PURE, hotloop=False).out.split() == ["function", "2", "6", "<lambda>", "1", "2"]


AGAIN = """
import jax
from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
original = get_profiler().core.original

def run(call):
    hooks = Hooks(HookContext(get_profiler()), {"jax": ("jax",)})
    hooks.install()
    result = call()
    hooked = original(result) is not result
    hooks.uninstall()
    return result, hooked, original(result) is result

f, *first = run(lambda: jax.jit(lambda x: x + 1))
print(*first, *run(lambda: f)[1:], f(1))
"""


def test_a_later_run_hooks_them_again(profile: Any) -> None:
    assert profile(AGAIN, hotloop=False).out.split() == ["True"] * 4 + ["2"]


NAMED = """
import functools, jax

class Agent:
    @functools.partial(jax.jit, static_argnums=0)
    def bootstrap(self, x): return x + 1

@jax.jit
def mix(x): return x + 2

for _ in range(3): mix(Agent().bootstrap(1.0))
"""


def test_named_phases(profile: Any) -> None:
    names = ("a=__main__:Agent.*", "b=__main__:mix", "c=__main__:mix")  # the first one counts
    run = profile(NAMED, options=[f"--phase={each}" for each in names])
    assert run.calls("c") == 0
    assert (run.calls("a"), run.calls("b")) == (3, 3)


RETRACED = """
import jax, jax.numpy as jnp

@jax.jit
def f(x): return x.sum()

for n in (1, 2, 3, 3): f(jnp.ones(n))
for _ in range(3): jax.jit(f)(jnp.ones(3))
"""


def test_retraces_are_counted(profile: Any) -> None:
    run = profile(RETRACED)
    assert run.counter("retraces") == 3  # two more shapes; jitted again, it is traced once more


UNINSTALLED = """
import jax
from jax._src import array, dispatch
places = [(jax, "jit"), (jax, "grad"), (jax.lax, "scan"), (dispatch, "log_elapsed_time")]
before = [getattr(owner, name) for owner, name in places] + [vars(array.ArrayImpl)["_value"]]
from hotloop import get_profiler
from hotloop.hooks.context import HookContext
from hotloop.hooks.install import Hooks
def same():
    now = [getattr(owner, name) for owner, name in places] + [vars(array.ArrayImpl)["_value"]]
    original = get_profiler().core.original
    return [a is b and original(a) is a for a, b in zip(now, before)]
hooks = Hooks(HookContext(get_profiler()), {"jax": ("jax",)})
hooks.install()
print(same())
hooks.uninstall()
print(same())
"""


def test_hooks_come_off_completely(profile: Any) -> None:
    on, off = profile(UNINSTALLED, hotloop=False).out.splitlines()
    assert on == str([False] * 5)
    assert off == str([True] * 5)


SBX_PPO = """
from sbx import PPO
PPO("MlpPolicy", "CartPole-v1", n_steps=64, batch_size=32, n_epochs=2, seed=0).learn(128)
"""


def test_jitted_parts_of_a_librarys_loop(profile: Any) -> None:
    """SBX: what its rollout and its update call has their phases, from the first call on."""
    pytest.importorskip("sbx")
    run = profile(SBX_PPO)
    assert run.counter("env_steps") == 128
    assert run.counter("gradient_steps") == 2 * 2 * 2
    assert run.calls("learn.step") == 2 * 2 * 2, run.table()
    assert run.calls("policy.act") == 128 + 2, run.table()  # and the value of each last state


JITTED_AGAIN = """
import jax, jax.numpy as jnp
x = jnp.ones(4)
for n in range(1, 7):
    jax.jit(lambda a: a * 2)(x)   # a new function every round
for n in range(1, 9):
    jnp.concatenate([x, jnp.ones(n)]).sum()   # JAX's own operations, for eight shapes
"""


def test_a_function_that_is_jitted_again_is_retraced_and_an_operation_is_not(profile: Any) -> None:
    run = profile(JITTED_AGAIN)
    assert (run.counter("traces"), run.counter("retraces")) == (6, 5)


def test_a_half_imported_jax_is_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Notes are taken once a second, during imports too."""
    monkeypatch.setitem(sys.modules, "jax", ModuleType("jax"))
    assert jax_loops.CompileTime().remarks() == []


ITEMS = """
import jax, jax.numpy as jnp
product = jax.jit(lambda x: (x @ x @ x).sum())
x = jnp.ones((400, 400))
for _ in range(20):
    product(x).item()
jax.jit(lambda x: x.sum())(x)   # traced: `item` of what has no value yet is not asked for
"""


def test_an_item_is_waited_for(profile: Any) -> None:
    run = profile(ITEMS)
    assert run.calls("wait") >= 10, run.table()
    assert run.counter("syncs") >= 10


def test_a_part_of_a_librarys_update_stays_one_while_hooks_rest() -> None:
    profiler = Profiler()
    profiler.enable()
    core = profiler.core
    about = Jitted(HookContext(profiler), "_train")
    about.loops, about.gradients, about.traces = True, 1, 1
    assert about.is_whole_loop
    with core.region("learn"):
        assert not about.is_whole_loop

    def head() -> None: ...

    core.attach(head, lambda original: core.region("collect").wrap(original))
    core.stretches("collect", 0, 1, 1000, ["collect", "learn"], frozenset())
    head()
    assert core.resting
    assert not about.is_whole_loop
