"""Results of experiments."""

from __future__ import annotations

from hotloop.analyze.comparing.experiments import FailedRun, Investigation, folder_name


def test_a_failed_run_quotes_its_last_lines() -> None:
    run = FailedRun("envs=8", "train.py --envs 8", "failed with exit code 1", ["Traceback", "Oops"])
    assert str(run).splitlines() == [
        "envs=8 (train.py --envs 8) failed with exit code 1",
        "its last lines were:",
        "  Traceback",
        "  Oops",
    ]
    assert str(FailedRun("a.py", "a.py", "failed")) == "a.py failed\nit printed nothing"


def test_a_goal_is_open_where_the_plan_was_cut_short() -> None:
    made = Investigation("train.py", "work", minimum_goal=1.5)
    assert (made.minimum, made.stretch) == ("not met", None)
    made.interrupted = True
    assert made.minimum == "cannot tell"


def test_a_setting_is_a_folder() -> None:
    assert folder_name("envs=64 lr=1e-3/x") == "envs=64-lr=1e-3-x"
