"""Patches of loops."""

from __future__ import annotations

import textwrap
from pathlib import Path

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
