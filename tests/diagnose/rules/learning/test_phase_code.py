"""Time of a phase's code in whatever phase it was sampled."""

from __future__ import annotations

from analyses import Make, frame, sample

from hotloop.diagnose.rules.learning.phase_code import code_of

CELLS = frame("Rollout.cells", line=63)
MAIN = frame("main", line=90)


def seconds(make: Make, *taken: object) -> float:
    return sum(each.seconds for each in code_of(make(samples=list(taken)), "advantage"))


def test_a_function_counts_in_every_phase_that_it_was_seen_in(make: Make) -> None:
    found = seconds(
        make,
        sample("advantage", 2.0, CELLS, MAIN),
        sample("policy.act", 1.0, CELLS, MAIN),
        sample("", 0.5, CELLS, MAIN),
        sample("policy.act", 3.0, frame("Net.forward"), MAIN),
    )
    assert found == 3.5


def test_of_the_training_loop_only_lines_count(make: Make) -> None:
    inline = frame("main", line=50)
    found = seconds(
        make,
        sample("env.step", 4.0, MAIN),
        sample("advantage", 2.0, inline),
        sample("", 1.0, inline),
        sample("", 1.0, frame("main", line=70)),
    )
    assert found == 3.0


def test_a_function_that_was_seen_there_by_chance_is_left_out(make: Make) -> None:
    stray = frame("Net.forward")
    found = seconds(
        make,
        sample("advantage", 0.1, stray, MAIN),
        sample("policy.act", 3.0, stray, MAIN),
    )
    assert found == 0.1
