"""Values of two windows as one."""

from __future__ import annotations

import pytest

from hotloop.capture.merge_rules import LAST, MAX, MIN, SUM, MergeRule


@pytest.mark.parametrize(("rule", "result"), [(SUM, 5), (LAST, 2), (MAX, 3), (MIN, 2)])
def test_a_merge_rule(rule: MergeRule, result: float) -> None:
    assert rule.merge(3, 2) == result
