"""Patches of loops."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest
from patched_programs import patched

GAE = """
    def gae(rewards, values, dones, last):
        for i in range(envs):
            following = 0.0
            for t in reversed(range(steps)):
                delta = rewards[t, i] + 0.99 * last[i] - values[t, i]
                following = delta + 0.9 * following
                advantages[t, i] = following
        return advantages
"""


def test_advantages_of_all_environments(tmp_path: Path) -> None:
    after = patched(tmp_path, "python-gae", GAE, "delta")
    assert after is not None
    assert "range(envs)" not in after
    assert "        delta = rewards[t] + 0.99 * last - values[t]\n" in after
    branching = GAE.replace("following = delta", "following = 0 if dones[t, i] else delta")
    assert patched(tmp_path, "python-gae", branching, "delta") is None


PUSH = """
    class Buffer:
        def push(self, obs, done): ...
        def push_batch(self, obs, done): ...

    def store(buffer, obs, done):
        for i in range(8):
            buffer.push(obs[i].numpy(), float(done[i].item()))
"""


def test_one_push_for_all_items(tmp_path: Path) -> None:
    after = patched(tmp_path, "per-item-buffer-push", PUSH, "buffer.push(")
    assert after is not None
    assert "    buffer.push_batch(obs.numpy(), done.numpy())\n" in after
    assert "for i" not in after
    alone = PUSH.replace("push_batch", "clear")
    assert patched(tmp_path, "per-item-buffer-push", alone, "buffer.push(") is None


def test_a_search_through_priorities(tmp_path: Path) -> None:
    source = """
        import numpy as np

        def find(p, wanted):
            total = 0.0
            for i in range(len(p)):
                total += p[i]
                if total >= wanted:
                    return i
            return len(p) - 1
    """
    after = patched(tmp_path, "naive-priority-sampling", source, "total +=")
    assert after is not None
    before: dict[str, object] = {}
    now: dict[str, object] = {}
    exec(textwrap.dedent(source), before)
    exec(after, now)
    priorities = [0.5, 0.0, 1.5, 0.25]
    for wanted in (0.0, 0.4, 0.5, 0.6, 2.0, 2.1, 2.25, 3.0):
        assert now["find"](priorities, wanted) == before["find"](priorities, wanted)  # type: ignore[operator]


def test_advantages_whose_inner_loop_is_over_environments(tmp_path: Path) -> None:
    source = """
        def gae(rewards, values, last):
            for t in reversed(range(steps)):
                for i in range(envs):
                    delta = rewards[t, i] + 0.99 * values[t + 1, i] - values[t, i]
                    last[i] = delta + 0.9 * last[i]
    """
    after = patched(tmp_path, "python-gae", source, "delta =")
    assert after is not None
    assert "range(envs)" not in after
    assert "        last = delta + 0.9 * last\n" in after
    carried = source.replace("last[i]", "last")
    assert patched(tmp_path, "python-gae", carried, "delta =") is None


@pytest.mark.parametrize(
    ("loop", "push"),
    [
        ("for i, o in enumerate(obs)", "buffer.push(o.numpy(), float(done[i].item()))"),
        ("for o, d in zip(obs, done)", "buffer.push(o.numpy(), d.item())"),
        ("for o, d in zip(obs, done)", "buffer.push(obs=o.numpy(), done=d.item())"),
    ],
)
def test_one_push_for_items_that_are_walked_over(tmp_path: Path, loop: str, push: str) -> None:
    source = PUSH.replace("for i in range(8)", loop)
    source = source.replace("buffer.push(obs[i].numpy(), float(done[i].item()))", push)
    after = patched(tmp_path, "per-item-buffer-push", source, "buffer.push(")
    assert after is not None
    named = "obs=obs.numpy(), done=done.numpy()" if "obs=" in push else "obs.numpy(), done.numpy()"
    assert f"    buffer.push_batch({named})\n" in after


@pytest.mark.parametrize(
    ("choice", "search"),
    [
        ("np.random.choice(len(p), n, p=p)", "np.cumsum(p)[:-1], np.random.random(n)"),
        ("rng.choice(k, size=n, p=p[:k])", "np.cumsum(p[:k])[:-1], rng.random(n)"),
        ("rng.choice(len(p), n, False, p)", None),
        ("rng.choice(len(p), n, replace=False, p=p)", None),
        ("rng.choice(len(p), n, False, p=p)", None),
        ("rng.choice(items, n, p=p)", None),
        ("choice(len(p), n, p=p)", None),  # from numpy.random import choice
    ],
)
def test_weighted_draws(tmp_path: Path, choice: str, search: str | None) -> None:
    source = f"import numpy as np\n\ndef draw(rng, p, n, k):\n    return {choice}\n"
    after = patched(tmp_path, "naive-priority-sampling", source, "choice")
    if search is None:
        assert after is None
    else:
        assert after is not None
        assert after.endswith(f"    return np.searchsorted({search}, side='right')\n")


def test_a_search_through_priorities_that_are_enumerated(tmp_path: Path) -> None:
    source = """
        import numpy as np

        def find(p, wanted):
            total = 0.0
            for i, each in enumerate(p):
                total += each
                if total > wanted:
                    return i
            return len(p) - 1
    """
    after = patched(tmp_path, "naive-priority-sampling", source, "total += each")
    assert after is not None
    names: dict[str, object] = {}
    exec(after, names)
    found = [names["find"]([1.0, 2.0, 3.0], wanted) for wanted in (0.5, 1.0, 2.9, 5.9, 6.0)]  # type: ignore[operator]
    assert found == [0, 1, 1, 2, 2]


UPDATES = """
    def train(env, agent, steps, updates):
        for step in range(steps):
            obs, reward, done, info = env.step(agent.act())
            if step % 4 == 0:
                for _ in range(updates):
                    agent.learn()
"""


def test_fewer_updates(tmp_path: Path) -> None:
    after = patched(tmp_path, "update-ratio", UPDATES, "agent.learn")
    assert after is not None
    assert "for _ in range(max(updates // 4, 1)):" in after
    once = UPDATES.replace("for _ in range(updates):", "if agent.ready:")
    assert patched(tmp_path, "update-ratio", once, "agent.learn") is None
    every = UPDATES.replace("for _ in range(updates):\n    ", "")
    after = patched(tmp_path, "update-ratio", every, "agent.learn")
    assert after is not None
    assert "if step % (4 * 4) == 0:" in after
    # The loop of the training is not one of updates.
    always = UPDATES.replace(
        "if step % 4 == 0:\n                for _ in range(updates):", "if True:"
    )
    always = always.replace("for step in", "for _ in")
    assert patched(tmp_path, "update-ratio", always, "agent.learn") is None


@pytest.mark.parametrize(
    ("loop", "push"),
    [
        ("for o, d in zip(obs, done)", "buffer.push(o, done[-1])"),
        ("for o in obs", "buffer.push(o, done[0])"),
        ("for i in range(1, 8)", "buffer.push(obs[i], done[i])"),
        ("for i in range(0, 8, 2)", "buffer.push(obs[i], done[i])"),
        ("for i, o in enumerate(obs, 1)", "buffer.push(o, i)"),
        ("for i in range(8)", "buffers[i].push(obs[i], done[i])"),
    ],
)
def test_items_that_are_not_all_in_their_order_are_pushed_one_by_one(
    tmp_path: Path, loop: str, push: str
) -> None:
    source = PUSH.replace("for i in range(8)", loop)
    source = source.replace("buffer.push(obs[i].numpy(), float(done[i].item()))", push)
    assert patched(tmp_path, "per-item-buffer-push", source, ".push(") is None


ENVIRONMENTS = """
    import numpy as np

    def gae(r, v, last, out):
        for t in range(steps):
            for i in range(envs):
                BODY
"""


@pytest.mark.parametrize(
    "body",
    [
        "out.append(max(r[t, i], 0.0) + v[t, i])",
        "last[i] = max(r[t, i], 0.0)",
        "delta = r[t, i] - v[t, i]; last[i] = max(delta, 0.0)",
        "delta = r[t, i]; last[i] = 1.0 if delta > 0 else 0.0",
        "delta = r[t, i]\n                if delta > 0: last[i] = delta",
        "last[i] = r[t, i] * (not v[t, i])",
        "last[i] = np.max(r[t, i])",
        "out[t] = r[t, i]",
        "self.last = r[t, i]",
        "last[i] = r[i, t]",
        "last[i] = r[i][t]",
    ],
)
def test_what_arrays_do_not_do_like_numbers_stays_in_its_loop(tmp_path: Path, body: str) -> None:
    source = ENVIRONMENTS.replace("BODY", body)
    assert patched(tmp_path, "python-gae", source, "[t") is None


def test_elementwise_functions_take_all_environments(tmp_path: Path) -> None:
    body = "last[i] = np.maximum(r[t, i], 0.0) - v[t][i]"
    after = patched(tmp_path, "python-gae", ENVIRONMENTS.replace("BODY", body), "last[i]")
    assert after is not None
    assert "        last = np.maximum(r[t], 0.0) - v[t]\n" in after


REPEATED = """
    def train(env, buffer, agent, net, optimizer, scaler, n):
        for _ in range(n):
            BODY
"""


@pytest.mark.parametrize(
    ("body", "fits"),
    [
        ("batch = buffer.sample(32); agent.update(batch)", True),
        ("agent.update(next(batches))", True),
        (
            "loss = net(buffer.sample(9)).mean(); optimizer.zero_grad(); "
            "scaler.scale(loss).backward(); scaler.step(optimizer); scaler.update()",
            True,
        ),
        ("loss = agent.update(); losses.append(loss)", True),
        ("batch = collect(env, policy); agent.update(batch)", False),
        ("agent.update(collect(policy))", False),
        ("world.step(); agent.update()", False),
        ("agent.update(env)", False),
        ("agent.update(); save(agent)", False),
    ],
)
def test_only_a_loop_of_nothing_but_updates_is_shortened(
    tmp_path: Path, body: str, fits: bool
) -> None:
    after = patched(tmp_path, "update-ratio", REPEATED.replace("BODY", body), body)
    assert (after is not None) == fits
    assert after is None or "range(max(n // 4, 1))" in after


def test_a_total_of_all_environments_stays(tmp_path: Path) -> None:
    source = GAE.replace("advantages[t, i] =", "total +=")
    assert patched(tmp_path, "python-gae", source, "delta") is None


def test_a_condition_on_time_takes_all_environments(tmp_path: Path) -> None:
    chosen = "delta = (last[i] if t == steps - 1 else values[t + 1, i]) + 0 * rewards[t, i]"
    source = GAE.replace("delta = rewards[t, i] + 0.99 * last[i]", chosen)
    after = patched(tmp_path, "python-gae", source, "delta =")
    assert after is not None
    assert "(last if t == steps - 1 else values[t + 1]) + 0 * rewards[t]" in after
