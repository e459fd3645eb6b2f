"""Limits that a mark asks for."""

from __future__ import annotations

from typing import Any

import pytest

from hotloop.errors import HotloopError
from hotloop.integrations.marked_test import Limits, limits_of


def test_shares_need_no_baseline_and_ratios_do() -> None:
    assert not limits_of((), {"max_share": {"log": 0.05}}).need_baseline
    assert limits_of((), {"min_steps_per_s_ratio": 0.9}).need_baseline
    assert limits_of((), {"max_phase_ratio": {"env.step": 1.2}}).need_baseline
    assert limits_of((), {}) == Limits()


@pytest.mark.parametrize(
    ("arguments", "named", "words"),
    [
        ((0.05,), {}, "not 0.05"),
        ((), {"max_shares": {}}, "not max_shares"),
        ((), {"max_share": {"log": 0}}, "above 0"),
        ((), {"min_steps_per_s_ratio": "90%"}, "above 0"),
    ],
)
def test_a_mistake_is_reported_in_one_line(
    arguments: tuple[Any, ...], named: dict[str, Any], words: str
) -> None:
    with pytest.raises(HotloopError, match=words):
        limits_of(arguments, named)
