"""Gains: of the loop, of the run, and their ceiling."""

from __future__ import annotations

from math import sqrt

import pytest
from analyses import Make, frame, phase, sample

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.evidence import (
    REST_FASTER,
    SAMPLES,
    SHARE_ERROR,
    ceiling_of,
    finding,
    gain_of,
    gain_of_run,
    loop_gain,
    rest_faster,
    whole_run_s,
    without_drivers,
    won,
)
from hotloop.diagnose.finding import Finding, Gain


def test_gain_is_amdahls() -> None:
    gain = gain_of(0.5, 0.5, 1.0)
    assert gain.low == pytest.approx(1 / 0.75)
    assert gain.high == pytest.approx(2.0)
    assert gain_of(1.0, 1.0, 1.0).high == pytest.approx(100.0)
    assert won(Gain(1.0, 4.0)) == pytest.approx(0.5)


@pytest.mark.parametrize(("path", "span"), [("env.step", "loop"), ("data", "run")])
def test_a_title_speaks_of_a_loop_only_where_there_is_one(make: Make, path: str, span: str) -> None:
    found = finding(
        make(phase(path, 5.0)),
        "python-loop",
        title="`f` loops over items: 50% of the loop",
        phase="",
        seconds=5.0,
        saves=(0.5, 0.9),
        fix="",
        confidence="high",
    )
    assert found.title == f"`f` loops over items: 50% of the {span}"


def test_a_gain_is_of_the_loop_and_the_runs_stands_second(make: Make) -> None:
    whole = make(phase("learn", 5.0), startup=[phase("import", 10.0)])
    found = loop_gain(whole, 5.0, 0.5, 0.9)
    # 5 of 10 seconds, from half of them to most, and what a measurement is off by.
    error = sqrt(0.5 / (0.5 * SAMPLES))  # of a half, less than of a third
    assert error < SHARE_ERROR
    assert found.low == pytest.approx(1 / (1 - 0.25 * (1 - error)))
    # The rest gets faster as well.
    assert found.high == pytest.approx(1 / (1 - 0.45) / (1 - 0.45 * REST_FASTER))
    assert whole_run_s(whole) == pytest.approx(20.0)
    assert gain_of_run(whole, Gain(2.0, 2.0)) == Gain(20 / 15, 20 / 15)
    cut = make(phase("learn", 5.0), startup=[phase("import", 10.0)], notes={"stop_after": "5s"})
    assert gain_of_run(cut, found) is None
    assert loop_gain(cut, 5.0, 0.5, 0.9) == found


def test_no_promise_is_above_the_ceiling(make: Make) -> None:
    whole = 2.0 / (1 - 0.5 * REST_FASTER)
    assert ceiling_of(0.5) == pytest.approx(2.0)
    assert ceiling_of(0.5, REST_FASTER) == pytest.approx(whole)
    assert rest_faster(make(), "learn.wait") == 0
    assert rest_faster(make(), "learn", "update-ratio") < rest_faster(make(), "learn", "logging")
    assert loop_gain(make(), 5.0, 1.0, 1.0).high == pytest.approx(whole)
    assert loop_gain(make(), 5.0, 1.0, 2.0).high == pytest.approx(whole)
    promised = Finding(
        "logging", "warning", "t", "log", Gain(1.5, 3.0), "high", "", "", ceiling=2.0
    )
    assert promised.gain == Gain(1.5, 2.0)


def test_a_line_that_drives_the_whole_training_is_not_the_one_to_edit(make: Make) -> None:
    learn, step = frame("main", line=108), frame("History.step", line=74)
    analysis = make(samples=[sample("env.step", 4.0, step, learn), sample("learn", 6.0, learn)])
    driver, own = (SourceLine(f.file, f.line, f.function) for f in (learn, step))
    assert without_drivers(analysis, [driver, own]) == [own]
    assert without_drivers(analysis, [driver]) == [driver]
    assert without_drivers(analysis, [own, own]) == [own]
