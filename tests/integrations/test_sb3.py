"""The callback of Stable-Baselines3, as the documentation shows it."""

from __future__ import annotations

from pathlib import Path

import pytest
from documented_programs import documented, names, report, run

pytestmark = pytest.mark.framework


def test_sb3(tmp_path: Path) -> None:
    pytest.importorskip("stable_baselines3")
    more = """
print(type(model).train.__module__, hasattr(PPO.train, "__wrapped__"))
"""
    done = run(documented("sb3") + more, tmp_path)
    assert done.stdout == "stable_baselines3.ppo.ppo False\n"  # the hooks are off again
    assert "Where the" in done.stderr
    found = report(tmp_path)
    assert found["run"]["env_steps"] == 1024
    assert found["run"]["gradient_steps"] == 4 * 4 * 10
    assert {"collect", "env.step", "policy.act", "buffer.add", "advantage", "learn"} <= names(found)
    assert found["unexplained"] < 0.2


def test_sb3_under_run(tmp_path: Path) -> None:
    """`hotloop run` measures; the callback only asks it for scalars."""
    pytest.importorskip("stable_baselines3")
    more = """
from hotloop.run.current import current_session
print(bool(current_session().settings.scalars), current_session().attached.curves is not None)
"""
    done = run(documented("sb3") + more, tmp_path, "-m", "hotloop", "run", "-q")
    assert done.stdout == "False True\n"
    assert report(tmp_path)["run"]["env_steps"] == 1024
