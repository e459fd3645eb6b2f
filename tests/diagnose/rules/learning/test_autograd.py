"""Rules on autograd graphs."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, phase, window
from framework_windows import check, loop, noted

from hotloop.capture.window import Window
from hotloop.diagnose.rules.learning import autograd


# -- autograd --
@pytest.mark.parametrize(("on", "said"), [(0.4, False), (1.0, True), (10.0, True)])
def test_anomaly_mode_that_stays_on(make: Make, on: float, said: bool) -> None:
    phases = [phase("learn.forward", 4.0), phase("learn.backward", 3.0)]
    windows = loop(gauges={"anomaly_s": on})
    found = autograd.anomaly_mode(make(*phases, windows=windows, notes=noted("anomaly mode")))
    assert bool(found) is said
    if said:
        assert check(found, "anomaly-mode").where[0].line == 12


ACTING = {"acts_seen": 50, "acts_with_graph": 50, "act_graphs_watched": 50, "gradient_steps": 9}


def test_graphs_of_acting_that_nobody_uses(make: Make) -> None:
    windows = loop(ACTING)
    found = autograd.missing_no_grad(make(phase("policy.act", 6.0), windows=windows))
    one = check(found, "missing-no-grad")
    assert one.severity == "warning"
    # A batch of one row looks like an act.
    windows = loop(ACTING | {"act_graphs_used": 1})
    check(autograd.missing_no_grad(make(phase("policy.act", 6.0), windows=windows)), one.id)


@pytest.mark.parametrize(
    "change",
    [
        {"act_graphs_used": 10},  # a policy gradient goes back through its actions
        {"acts_with_graph": 20},
        {"act_graphs_watched": 4},
        {"gradient_steps": 0},
    ],
)
def test_graphs_of_acting_that_have_a_reason(make: Make, change: dict[str, float]) -> None:
    analysis = make(phase("policy.act", 6.0), windows=loop(ACTING | change))
    assert autograd.missing_no_grad(analysis) == []


@pytest.mark.parametrize(("episodes", "said"), [(49, False), (50, True)])
def test_graphs_of_acting_where_nothing_learns_by_gradients(
    make: Make, episodes: int, said: bool
) -> None:
    windows = loop(ACTING | {"gradient_steps": 0})
    analysis = make(phase("policy.act", 6.0), windows=windows, episodes=episodes)
    assert bool(autograd.missing_no_grad(analysis)) is said


def growing(ratio: float, gauges: dict[str, float], memory: float = 0.0) -> list[Window]:
    """Ten seconds in which a backward pass gets `ratio` times longer."""
    windows = []
    for i in range(10):
        each = 1e-3 * (1 + (ratio - 1) * i / 9)
        counters = {"env_steps": 100.0, "gradient_steps": 0.5 / each}
        resident = 1e8 * (1 + memory * i / 9)
        windows.append(
            window(
                i,
                {"learn.backward": (0.5, round(0.5 / each))},
                counters=counters,
                gauges=gauges | {"resident": resident},
            )
        )
    return windows


@pytest.mark.parametrize(
    ("alive", "ratio", "said"),
    [(0.19, 5.0, False), (0.21, 5.0, True), (1.0, 1.1, False)],
)
def test_graphs_kept_and_backward_passes_that_grow(
    make: Make, alive: float, ratio: float, said: bool
) -> None:
    windows = growing(ratio, {"graphs_alive": alive})
    found = autograd.graph_retained(make(phase("learn.backward", 5.0), windows=windows))
    assert bool(found) is said
    if said:
        one = check(found, "graph-retained")
        assert one.gain.high / one.gain.low < 2


def test_graphs_kept_in_a_run_too_short_for_a_trend(make: Make) -> None:
    """Beside graphs that are alive, a steep rise in every window is enough."""
    for ratio, said in ((12.0, True), (1.5, False)):
        windows = growing(ratio, {"graphs_alive": 0.3})[::2]  # five of ten windows
        found = autograd.graph_retained(make(phase("learn.backward", 5.0), windows=windows))
        assert bool(found) is said


def test_graphs_kept_that_only_fill_memory_are_no_alarm(make: Make) -> None:
    windows = growing(1.0, {"graphs_alive": 1.0}, memory=0.5)
    (found,) = autograd.graph_retained(make(phase("learn.backward", 5.0), windows=windows))
    assert found.severity == "info"
    assert found.evidence["memory_added_mb"] > 30


@pytest.mark.parametrize(
    ("share", "ratio", "said"), [(0.009, 4.0, False), (0.02, 4.0, True), (0.5, 1.0, False)]
)
def test_subnormal_numbers_and_time(make: Make, share: float, ratio: float, said: bool) -> None:
    windows = growing(ratio, {"subnormals": share})
    found = autograd.denormals(make(phase("learn.backward", 5.0), windows=windows))
    assert bool(found) is said
    if said:
        check(found, "denormals")


def test_subnormal_numbers_that_slow_the_loop_at_once(make: Make) -> None:
    """A jump early in a run is no trend, but the numbers explain it."""
    windows = growing(1.0, {"subnormals": 0.0})[:2]
    for later in growing(1.0, {"subnormals": 0.3})[2:]:
        each = later.phases["learn.backward"]
        later.phases["learn.backward"] = replace(each, calls=each.calls // 4)
        windows.append(later)
    found = autograd.denormals(make(phase("learn.backward", 5.0), windows=windows))
    check(found, "denormals")
