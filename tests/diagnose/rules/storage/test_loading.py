"""Rules on loading data."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import Make, frame, phase, sample

from hotloop.diagnose.rules.storage import loading


@pytest.mark.parametrize(("seconds", "said"), [(1.0, False), (1.2, True)])
def test_loading_from_its_share_of_the_run(make: Make, seconds: float, said: bool) -> None:
    analysis = make(phase("learn", 9.0), startup=[phase("data", seconds)])
    assert bool(loading.data_loading(analysis)) is said


def test_a_run_that_was_cut_is_not_judged_by_its_start(make: Make) -> None:
    analysis = make(startup=[phase("data", 9.0)], notes={"stop_after": "10s"})
    assert loading.data_loading(analysis) == []
    by_itself = {"stop_after": "10s", "stop_reached": False}
    assert loading.data_loading(make(startup=[phase("data", 9.0)], notes=by_itself))


@pytest.mark.parametrize(
    ("path", "said"), [("", True), ("learn", True), ("env.reset", False), ("checkpoint", False)]
)
def test_files_that_are_read_in_the_loop(make: Make, path: str, said: bool) -> None:
    numpy = frame("loadtxt", "/venv/lib/python3.11/site-packages/numpy/lib/_npyio_impl.py")
    analysis = make(
        phase("learn", 5.0),
        samples=[sample(path, 3.0, numpy, frame("demos", line=7))],
        env_steps=1000,
    )
    found = loading.data_loading(analysis)
    assert bool(found) is said
    if said:
        assert found[0].where[0].line == 7
        assert found[0].evidence["in_loop_s"] == pytest.approx(3.0)


def test_files_that_are_written_are_not_loaded(make: Make) -> None:
    numpy = "/venv/lib/python3.11/site-packages/numpy/lib/_npyio_impl.py"
    for function, said in (("savez_compressed", False), ("NpzFile.__getitem__", True)):
        stack = (
            frame("ZipFile._open_to_write", "/usr/lib/python3.11/zipfile.py"),
            frame(function, numpy),
        )
        analysis = make(samples=[sample("", 3.0, *stack, frame("Agent.save"))], env_steps=1000)
        assert bool(loading.data_loading(analysis)) is said


def test_what_the_program_prepares_before_its_loop(make: Make) -> None:
    """Whatever it is called; not what a library for networks does when it is first used."""
    numpy = frame("mean", "/venv/lib/python3.11/site-packages/numpy/_core/_methods.py")
    torchs = frame("Linear.__init__", "/venv/lib/python3.11/site-packages/torch/nn/linear.py")
    pandas = frame("read", "/venv/lib/python3.11/site-packages/pandas/io/parsers.py")
    for inner, seconds, said in (
        (numpy, 5.0, True),
        (numpy, 1.5, False),
        (pandas, 1.5, True),
        (torchs, 5.0, False),
    ):
        analysis = make(startup=[phase("startup", seconds)])
        analysis.startup_samples = [sample("", seconds, inner, frame("before_all", line=3))]
        found = loading.data_loading(analysis)
        assert bool(found) is said
        if said:
            assert found[0].where[0].line == 3


def test_who_waits_before_the_loop_prepares_nothing(make: Make) -> None:
    starts = frame("Popen.wait", "/usr/lib/python3.11/subprocess.py")
    for inner, waits in ((starts, False), (frame("wait_for_server"), True)):
        analysis = make(startup=[phase("startup", 5.0)])
        each = replace(sample("", 5.0, inner, frame("before_all")), waiting=waits)
        analysis.startup_samples = [each]
        assert loading.data_loading(analysis) == []
