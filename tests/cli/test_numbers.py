"""Numbers on the command line."""

from __future__ import annotations

import pytest
from recorded_folders import DAY

from hotloop.cli.numbers import age


@pytest.mark.parametrize(("text", "seconds"), [("7d", 7 * DAY), ("12h", DAY / 2), ("2w", 14 * DAY)])
def test_ages(text: str, seconds: float) -> None:
    assert age(text) == seconds
