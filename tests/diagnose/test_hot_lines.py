"""The line that a verdict names where no rule matches."""

from __future__ import annotations

from analyses import Make, frame, sample

from hotloop.diagnose.hot_lines import hottest_line

GAP = "between step and act"


def test_it_is_the_innermost_line_with_most_of_what_is_below_its_callers(make: Make) -> None:
    main = frame("main", line=40)
    taken = [
        sample(GAP, 1.0, frame("norm", line=5), frame("keep", line=9), main),
        sample(GAP, 1.0, frame("keep", line=10), main),
        sample(GAP, 1.0, frame("keep", line=11), main),
        sample(GAP, 1.0, frame("main", line=41)),
        sample("learn", 5.0, frame("main", line=50)),
    ]
    notes = {"lines": {main.file: {"40": [["log.keep"], 30]}}}
    analysis = make(samples=taken, notes=notes)
    found = hottest_line(analysis, GAP)
    assert found is not None
    assert str(found) == "train.py:40 in `main` (calls `log.keep`)"
    assert found.share == 0.3
    assert hottest_line(analysis, "env.step") is None


def test_a_cold_line_is_not_named(make: Make) -> None:
    assert hottest_line(make(samples=[sample(GAP, 0.4, frame("main"))]), GAP) is None


def test_a_line_that_drives_everything_is_left_for_what_is_below(make: Make) -> None:
    main = frame("<module>", line=99)
    taken = [
        sample("learn", 4.0, frame("train", line=20), main),
        sample("learn", 3.0, frame("train", line=30), main),
        sample("learn", 3.0, frame("train", line=40), main),
    ]
    found = hottest_line(make(samples=taken))
    assert found is not None
    assert (found.line.line, found.share) == (20, 0.4)
