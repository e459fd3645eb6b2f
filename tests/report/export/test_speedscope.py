"""speedscope files, checked against its schema."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hotloop.report.document import Report
from hotloop.report.export import speedscope


# -- speedscope --
def check_speedscope(document: dict[str, Any]) -> None:
    """The rules of the published schema for what is used of it (file-format-spec.ts)."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(document) <= {
        "$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter",
    }  # fmt: skip
    assert set(document["shared"]) == {"frames"}
    for frame in document["shared"]["frames"]:
        assert isinstance(frame["name"], str)
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 0), int)
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    for profile in document["profiles"]:
        assert set(profile) == {
            "type", "name", "unit", "startValue", "endValue", "samples", "weights",
        }  # fmt: skip
        assert profile["type"] == "sampled"
        assert profile["unit"] in (
            "bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds",
        )  # fmt: skip
        assert len(profile["samples"]) == len(profile["weights"])
        frames = range(len(document["shared"]["frames"]))
        assert all(index in frames for stack in profile["samples"] for index in stack)
        assert all(weight > 0 for weight in profile["weights"])
        assert profile["endValue"] - profile["startValue"] == pytest.approx(sum(profile["weights"]))


def test_speedscope(report: Report) -> None:
    document = json.loads(speedscope.render(report))
    check_speedscope(document)
    names = [profile["name"].partition(" ")[0] for profile in document["profiles"]]
    assert names == ["main", "env-0", "env-1"]
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    stacks = [[frames[i] for i in stack] for stack in document["profiles"][0]["samples"]]
    assert any(stack[:2] == ["[collect]", "[env.step]"] and "work" in stack for stack in stacks)
    assert document["profiles"][0]["endValue"] == pytest.approx(
        report.analysis.run.loop_s, rel=0.02
    )
