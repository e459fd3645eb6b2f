"""Text that is safe and fits on a terminal."""

from __future__ import annotations

from hotloop.report.terminal import clean, fit


def test_clean_and_fit() -> None:
    assert clean("a\x1bb\n") == "a�b�"
    assert fit("abcdefghij", 7) == "abc…hij"
    assert len(fit("x" * 99, 20)) == 20
