"""Episode scores and marks."""

from __future__ import annotations

import pytest
from made_captures import delta, one_window


def test_scores_and_marks() -> None:
    analysis = one_window(
        {"render": delta(20, 4, 4), "model": delta(10_000, 1, 1)},
        memory_peaks={"render": [900_000_000, 150_000_000]},
        gpu_memory_peaks={"model": 50_000_000},
    )
    render, model = analysis.phase("render"), analysis.phase("model")
    assert render is not None
    assert model is not None
    assert render.marks == ["CRITICAL", "SLOW", "MEMORY"]
    assert render.score == pytest.approx(100 * (0.4 * 0.4 + 0.3 + 0.15))
    assert model.marks == []
    assert model.score == pytest.approx(100 * (0.4 * 0.1 + 0.3 * 0.001 + 0.15 * 0.5))
