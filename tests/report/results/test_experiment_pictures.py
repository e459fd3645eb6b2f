"""Pictures of experiments: intervals, the knee, claims; whatever the names are."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from made_experiments import comparison, investigation, sweep

from hotloop.report.results.comparison import in_words, ratio
from hotloop.report.results.experiment_pictures import (
    comparison_picture,
    investigation_picture,
    sweep_picture,
)


def text_of(svg: bytes) -> str:
    root = ElementTree.fromstring(svg)
    return "\n".join("".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))


def test_a_comparison_with_its_intervals() -> None:
    made = comparison()
    svg = comparison_picture(made, "svg")
    text = text_of(svg)
    for phase in made.phases:
        if not phase.own.why:
            assert ratio(phase.own) in text
            assert in_words(phase.own)[:20] in text
    assert "Most of the change is in env.step" in text
    assert "</script>" in text
    assert b"<script" not in svg
    assert comparison_picture(made, "png").startswith(b"\x89PNG")


def test_a_comparison_without_pairs() -> None:
    assert comparison_picture(comparison(n=0), "png").startswith(b"\x89PNG")
    assert comparison_picture(comparison(n=1), "png").startswith(b"\x89PNG")


def test_a_sweep_with_its_knee() -> None:
    text = text_of(sweep_picture(sweep(["1", "2", "4", "8", "16", "32"]), "svg"))
    assert "knee at 8" in text
    assert "in proportion" in text
    assert "Steps per second" in text
    assert "Time per environment step, by phase" in text
    assert "envs=16" in text


@pytest.mark.parametrize(
    ("values", "other", "cut", "says"),
    [
        (["loop", "batch"], None, True, "Steps per second"),
        (["1", "2", "4"], ["1", "2"], True, "ratio=2"),
        (["1", "2", "4", "64"], None, False, "Time of a run"),
        (["4"], None, True, "Only one setting was measured"),
    ],
)
def test_sweeps_of_every_kind(
    values: list[str], other: list[str] | None, cut: bool, says: str
) -> None:
    assert says in text_of(sweep_picture(sweep(values, other, cut), "svg"))


def test_claims_beside_what_was_measured() -> None:
    text = text_of(investigation_picture(investigation(), "svg"))
    assert "confirmed" in text
    assert "refuted" in text
    assert "minimum" in text
    assert "together" in text
    assert "on the path" not in text  # a slope is no gain
