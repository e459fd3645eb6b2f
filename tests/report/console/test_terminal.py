"""Text that is safe and fits on a terminal."""

from __future__ import annotations

from hotloop.report.console.terminal import clean, columns, fit, fit_phase


def test_clean_and_fit() -> None:
    assert clean("a\x1bb\n") == "a�b�"
    assert fit("abcdefghij", 7) == "abc…hij"
    assert len(fit("x" * 99, 20)) == 20


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    assert columns([["phase", "time"], ["env.step", "9 s"]], "<>") == [
        *("phase     time", "env.step   9 s"),
    ]


def test_a_gap_is_shortened_to_its_two_events() -> None:
    assert fit_phase("between inference and optimizer", 19) == "inference…optimizer"
    assert fit_phase("between step and act", 24) == "between step and act    "
    assert fit_phase("learn.optimizer", 16) == "learn.optimizer "
