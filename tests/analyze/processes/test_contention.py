"""Time that other programs took from a run."""

from __future__ import annotations

import pytest
from made_captures import analysis_of_windows, in_a_row

from hotloop.analyze.comparing.compare import (
    figures,
)
from hotloop.analyze.model import Process
from hotloop.analyze.over_time.series import RunSeries
from hotloop.analyze.processes.contention import Contention, cores_used, share_due_to_others


def test_waiting_for_other_programs_is_taken_out() -> None:
    analysis = analysis_of_windows(in_a_row([(100, 2000, 0)]))
    run = RunSeries(analysis)
    busy = Contention([(1000.0, 0.0), (1002.0, 1.0)], due_to_others=1.0)
    plain = figures(run, "env_steps", 100, analysis)
    taken = figures(run, "env_steps", 100, analysis, busy)
    assert taken.seconds == pytest.approx(plain.seconds / 2)
    assert taken.own["env.step"] == pytest.approx(plain.own["env.step"] / 2)
    assert taken.waited == pytest.approx(0.5)


def test_a_run_that_seems_to_have_only_waited_still_took_time() -> None:
    analysis = analysis_of_windows(in_a_row([(100, 2000, 0)]))
    busy = Contention([(1000.0, 0.0), (1002.0, 5.0)], due_to_others=1.0)
    taken = figures(RunSeries(analysis), "env_steps", 100, analysis, busy)
    assert taken.seconds > 0
    assert taken.own["env.step"] > 0


def test_waiting_is_read_between_the_marks() -> None:
    contention = Contention([(10.0, 0.0), (11.0, 0.5), (12.0, 0.5)], 0.5)
    assert contention.waited(10.0, 10.5) == pytest.approx(0.125)
    assert contention.waited(0.0, 100.0) == pytest.approx(0.25)
    assert contention.waited(5.0, 5.0) == 0.0
    assert Contention().waited(0.0, 1.0) == 0.0


def test_a_program_that_waits_for_its_own_workers_waits_for_itself() -> None:
    alone = share_due_to_others(main_s=1.0, tree_s=1.0, machine_s=3.0, usable=1.0)
    workers = share_due_to_others(main_s=1.0, tree_s=5.0, machine_s=5.0, usable=1.0)
    both = share_due_to_others(main_s=1.0, tree_s=3.0, machine_s=5.0, usable=1.0)
    elsewhere = share_due_to_others(main_s=1.0, tree_s=3.0, machine_s=203.0, usable=0.01)
    assert (alone, workers, both, elsewhere) == (1.0, 0.0, 0.5, 0.5)


def test_a_launcher_does_not_use_more_cores_than_it_could() -> None:
    """It has spent nine seconds on its imports, and the loop of its workers took two."""
    analysis = analysis_of_windows(in_a_row([(100, 2000, 0)]))
    analysis.run.cpu_share = 0.5
    analysis.processes.append(Process("launcher", 1, 9.0, 9.0, None, ended=True, cpu_s=9.0))
    assert cores_used(analysis) == pytest.approx(1.5)
