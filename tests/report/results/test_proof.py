"""Measured results of fixes, as sentences."""

from __future__ import annotations

import pytest

from hotloop.capture.proofs import (
    CONFIRMED,
    IS_SLOWER,
    NO_DIFFERENCE,
    REFUTED,
    UNCLEAR,
    Proof,
    TriedFix,
)
from hotloop.report.console.terminal import Style
from hotloop.report.results.proof import proof_text, summary
from hotloop.report.words.gains import measured

OPEN = "8 pairs were not enough to tell"


@pytest.mark.parametrize(
    ("verdict", "gain", "low", "high", "why", "line", "phrase"),
    [
        (CONFIRMED, 2.0, 1.9, 2.1, "", "2.00 times faster (1.90 to 2.10)", "2.00 times faster"),
        (REFUTED, 0.8, 0.75, 0.85, IS_SLOWER,
         "measured: 1.25 times slower (1.18 to 1.33); refuted", "1.25 times slower (1.18 to 1.33)"),
        (REFUTED, 1.0, 0.99, 1.01, NO_DIFFERENCE,
         "measured: no difference (0.99 to 1.01); refuted", "no difference (0.99 to 1.01)"),
        (UNCLEAR, 1.05, 0.9, 1.2, OPEN,
         f"1.05 times as fast (0.90 to 1.20); unclear: {OPEN}", "1.05 times as fast (0.90 to 1.20)"),
        (UNCLEAR, 2.35, 0.0, 85574.0, OPEN,
         f"2.35 times as fast; unclear: {OPEN}", "2.35 times as fast"),
    ],
)  # fmt: skip
def test_each_verdict_in_words(
    verdict: str, gain: float, low: float, high: float, why: str, line: str, phrase: str
) -> None:
    tried = TriedFix("logging", "fewer", verdict, gain, low, high, 8, why=why)
    assert summary(tried) == f"logging: fewer → {line}"
    assert measured(tried).startswith(phrase)


def test_a_diff_of_code_with_tabs_can_be_read() -> None:
    tried = TriedFix("logging", "fewer", UNCLEAR, why=OPEN, diff="-\t\told()\n+\t\tnew()\n")
    text = proof_text(Proof("train.py", "runs", 60.0, tried=[tried]), Style(), "capture")
    assert "  -       old()\n  +       new()\n" in text
