"""The page of a sweep, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("scipy")
from experiment_pages import ENVS, Open, sections
from made_experiments import sweep, written

from hotloop.report.results.sweep_page import render_sweep


def test_a_sweep_shows_its_knee_and_what_was_expected(
    open_file: Open, pages: dict[str, Path]
) -> None:
    page = open_file(pages["sweep"])
    assert sections(page) == ["speed", "expected", "time", "growth", "table", "runs"]
    assert "the fastest" in page.inner_text("h1")
    assert "envs=32 is " in page.inner_text("h1")
    assert "times slower than predicted" in page.inner_text("h1")
    assert page.locator("#speed .knee").count() == 1
    assert page.locator("#speed .point").count() == len(ENVS)
    assert page.locator("#speed .error").count() == len(ENVS)
    assert "envs=8" in page.inner_text(".figures")
    assert "is responsible for" in page.inner_text("#expected")
    assert "throughput in proportion to envs" in page.inner_text("#expected")
    assert page.locator("#time .stack").count() == len(ENVS)
    whole = page.inner_text('#growth .row[data-name="whole step"]')
    assert re.search(r"-0\.\d\d \(-", whole)
    assert page.locator("#table tbody tr").count() == len(ENVS)


def test_a_point_of_a_sweep_says_all(open_file: Open, pages: dict[str, Path]) -> None:
    page = open_file(pages["sweep"])
    page.locator("#speed .point").nth(2).focus()
    page.keyboard.press("Shift+Tab")
    page.keyboard.press("Tab")
    tip = page.inner_text(".tip.shown")
    for word in ("envs=4", "steps per second", "peak memory", "400 MB", "efficiency", "env.step"):
        assert word in tip
    label = page.locator("#speed .point").nth(2).get_attribute("aria-label")
    page.click("text=Peak memory >> nth=0")
    assert page.locator("#speed .error").count() == 0
    assert page.locator("#speed .point").nth(2).get_attribute("aria-label") != label


@pytest.mark.parametrize(
    ("values", "other", "cut"),
    [
        (["loop", "batch"], None, True),
        (ENVS, ["1", "2"], True),
        (ENVS, None, False),
        (["4"], None, True),
    ],
)
def test_sweeps_of_every_kind(
    open_file: Open, tmp_path: Path, values: list[str], other: list[str] | None, cut: bool
) -> None:
    page = open_file(written(tmp_path, "sweep", render_sweep(sweep(values, other, cut))))
    assert page.locator("#speed .point").count() == len(values) * len(other or [1])
    assert page.locator("#speed .line").count() == len(other or [1])
    chosen = page.inner_text('#speed [aria-pressed="true"]')
    assert chosen == ("Steps per second" if cut else "Time of a run")
    assert page.locator("#table tbody tr").count() == len(values) * len(other or [1])
