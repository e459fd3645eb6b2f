"""Collapsed stacks."""

from __future__ import annotations

import re

import pytest

from hotloop.analyze.samples.weighted_stacks import weighted_stacks
from hotloop.report.document import Report
from hotloop.report.export import collapsed


# -- collapsed stacks --
def test_collapsed(report: Report) -> None:
    lines = collapsed.render(report).splitlines()
    total: dict[str, int] = {}
    for line in lines:
        stack, _, count = line.rpartition(" ")  # as flamegraph.pl reads it
        assert re.fullmatch(r"\d+", count)
        total[stack.split(";")[0]] = total.get(stack.split(";")[0], 0) + int(count)
        assert all(part for part in stack.split(";"))
    expected = sum(stack.seconds for stack in weighted_stacks(report.analysis))
    assert total["main"] / 1e6 == pytest.approx(expected, rel=0.001)
    assert set(total) == {"main", "env-0", "env-1"}
    assert any(
        re.match(r"main;\[collect\];\[env\.step\];.*work \(.*train\.py:\d+\) ", x) for x in lines
    )
