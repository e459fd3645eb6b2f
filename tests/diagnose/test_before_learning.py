"""Runs that ended before learning began."""

from __future__ import annotations

from analyses import Make, ids, phase
from findings_made import found

from hotloop.diagnose.before_learning import judged_early
from hotloop.diagnose.finding import LOW

NETWORK = {"networks": [{"parameters": 100.0}]}


def test_without_updates_nothing_is_said_of_the_whole_loop(make: Make) -> None:
    given = [found("env-bound", 1.5, 2.0), found("pandas-in-step", 1.5, 2.0)]
    warm_up = make(phase("env.step", 8.0), notes=NETWORK, env_steps=1000)
    kept = judged_early(warm_up, given)
    assert ids(kept) == ["pandas-in-step"]
    assert kept[0].confidence == LOW


def test_once_learning_began_everything_holds(make: Make) -> None:
    given = [found("env-bound", 1.5, 2.0)]
    learns = make(
        phase("env.step", 8.0), phase("learn.backward", 1.0), notes=NETWORK, env_steps=1000,
        gradient_steps=9,
    )  # fmt: skip
    assert judged_early(learns, given) == given
