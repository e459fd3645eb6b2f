"""The survey as text."""

from __future__ import annotations

from dataclasses import replace

from surveys import HEALTHY

from hotloop.analyze.doctor import examine
from hotloop.report.console.doctor import doctor_text
from hotloop.report.console.terminal import Style


def test_plain_text_without_color_or_signs() -> None:
    checks = examine(replace(HEALTHY, native=False, why_twin="a\x1b[31m b"))
    text = doctor_text(checks, Style(80, False, unicode=False))
    assert "\x1b" not in text
    assert "1 problem found." in text
    assert all(len(line) <= 80 for line in text.splitlines())


def test_what_was_not_checked_is_no_all_clear() -> None:
    text = doctor_text(examine(replace(HEALTHY, hooks_unfinished=True)), Style(80, False))
    assert "No problems found." not in text
    assert "No problems found in what was checked" in text
