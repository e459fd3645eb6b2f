"""Rules on what the loop does beside collecting, and on what is healthy."""

from __future__ import annotations

import pytest
from analyses import Make, phase, window

from hotloop.analyze.model import Analysis
from hotloop.diagnose import diagnose
from hotloop.diagnose.rules.learning import schedule
from hotloop.diagnose.verdict import judge


@pytest.mark.parametrize(("updates", "said"), [(3900, False), (4100, True)])
def test_gradient_steps_for_each_round(make: Make, updates: int, said: bool) -> None:
    analysis = make(
        phase("learn", 8.0), phase("buffer.sample", 0.5), phase("env.step", 1.0, 1000),
        env_steps=1000, gradient_steps=updates,
    )  # fmt: skip
    found = schedule.update_ratio(analysis)
    assert bool(found) is said
    if said:
        assert "changes the algorithm" in found[0].learning


def test_many_environments_are_one_round(make: Make) -> None:
    """64 gradient steps for 256 environments are 0.25 a step and far too many."""
    analysis = make(
        phase("learn", 9.0), phase("buffer.sample", 0.5), phase("env.step", 0.1, 100),
        env_steps=25_600, gradient_steps=6_400,
    )  # fmt: skip
    (found,) = schedule.update_ratio(analysis)
    assert found.evidence["gradient_steps_per_vector_step"] == pytest.approx(64)


def test_epochs_of_an_on_policy_method_are_not_a_ratio(make: Make) -> None:
    analysis = make(
        phase("learn", 8.0), phase("buffer.sample", 0.5), phase("advantage", 0.4),
        phase("env.step", 1.0, 1000), env_steps=1000, gradient_steps=9000,
    )  # fmt: skip
    assert schedule.update_ratio(analysis) == []


def starts(make: Make, before: int, slower: float) -> Analysis:
    windows = []
    for i in range(10):
        learns = i >= before
        steps = 1000 / slower if learns else 1000.0
        counters = {"env_steps": steps}
        phases = {"env.step": (0.8 * steps / 1000, round(steps))}
        if learns:
            counters["gradient_steps"] = steps
            phases["learn"] = (1 - 0.8 * steps / 1000, round(steps))
        windows.append(window(i, phases, counters=counters))
    drawing = phase("buffer.sample", 0.1)
    return make(
        phase("env.step", 5.0), phase("learn", 4.0), drawing, windows=windows, env_steps=6000
    )


def test_a_slower_run_where_learning_starts_is_healthy(make: Make) -> None:
    analysis = starts(make, 4, 5.0)
    (found,) = schedule.learning_starts(analysis)
    assert found.severity == "healthy"
    assert judge(analysis, [found]).headline.startswith("No known cause matched")
    assert schedule.learning_starts(starts(make, 0, 5.0)) == []
    assert schedule.learning_starts(starts(make, 4, 1.1)) == []


def longer(make: Make, times: float, slower: float) -> Analysis:
    windows = []
    for i in range(16):
        length = 50 * (1 + (times - 1) * i / 15)
        step_s = 1e-3 * (1 + (slower - 1) * i / 15)
        steps = 1 / step_s
        counters = {"env_steps": steps, "episodes": steps / length, "gradient_steps": steps}
        windows.append(window(i, {"learn": (0.9, round(steps))}, counters=counters))
    return make(phase("learn", 14.0), windows=windows, loop_s=16.0, env_steps=15_000)


def test_longer_episodes_are_healthy_where_steps_are_not_slower(make: Make) -> None:
    (found,) = schedule.longer_episodes(longer(make, 4.0, 1.0))
    assert found.severity == "healthy"
    assert found.evidence["steps_slower"] == pytest.approx(1.0, abs=0.05)
    assert schedule.longer_episodes(longer(make, 1.2, 1.0)) == []
    assert schedule.longer_episodes(longer(make, 4.0, 2.0)) == []


def test_a_healthy_explanation_raises_no_alarm(make: Make) -> None:
    findings = diagnose(longer(make, 4.0, 1.0))
    assert [each.id for each in findings if each.severity == "healthy"] == ["longer-episodes"]
    assert all(each.severity in ("healthy", "info") for each in findings)
