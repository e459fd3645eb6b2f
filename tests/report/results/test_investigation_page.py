"""The page of an investigation, in a real browser."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("scipy")
from experiment_pages import Open, sections


def test_an_investigation_sets_claims_beside_figures(
    open_file: Open, pages: dict[str, Path]
) -> None:
    page = open_file(pages["investigate"])
    assert sections(page) == ["claims", "delays", "hypotheses", "together", "runs"]
    assert "The minimum goal of 1.5x: met." in page.inner_text(".lead")
    fast = page.locator('#claims .row[data-name="fast env"]')
    assert "confirmed" in fast.inner_text()
    assert fast.locator(".expected").count() == 1
    assert page.locator("#claims .heads").inner_text().split() == ["minimum", "stretch"]
    assert "refuted" in page.inner_text("#hypothesis-2")
    assert "critical path" in page.inner_text("#delays")
    assert "could not be tried" in page.inner_text("#hypothesis-4")
    chart = page.locator("#hypothesis-1 .intervals")
    assert not chart.is_visible()
    page.locator("#hypothesis-1 summary").focus()
    page.keyboard.press("Enter")
    assert chart.is_visible()
    assert "env.step" in chart.inner_text()
