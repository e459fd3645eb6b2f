"""The page of a comparison, in a real browser."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("scipy")
from experiment_pages import Open, sections
from made_experiments import comparison, result, written

from hotloop import units
from hotloop.report.results.comparison import headline, ratio
from hotloop.report.results.comparison_page import render_comparison


def test_a_comparison_says_its_verdict_and_every_interval(
    open_file: Open, pages: dict[str, Path]
) -> None:
    page = open_file(pages["compare"])
    made = comparison()
    assert page.inner_text("h1") == headline(made)
    assert sections(page) == ["verdicts", "time", "pairs", "table", "runs"]
    assert "Most of the change is in env.step" in page.inner_text(".lead")
    rows = page.locator("#verdicts .row[data-name]")
    assert rows.first.inner_text().split("\n")[0] == "whole"
    step = next(phase for phase in made.phases if phase.name == "env.step").own
    shown = page.inner_text('#verdicts .row[data-name="env.step"]')
    assert ratio(step) in shown
    assert "faster" in shown
    assert units.seconds(step.first or 0) in page.inner_text("#table tbody tr:nth-child(2)")
    assert "wrong at most 1 time in 20" in page.inner_text("#runs")
    assert "hotloop report runs/hotloop/compare-1/pair-01/b" in page.inner_text("#runs .copy")


def test_intervals_stand_where_they_should(open_file: Open, pages: dict[str, Path]) -> None:
    page = open_file(pages["compare"])
    place = """(name) => {
      const row = document.querySelector(`#verdicts .row[data-name="${name}"]`);
      const at = (part) => row.querySelector(part).getBoundingClientRect();
      const dot = at(".track .dot"), line = at(".whisker"), one = at(".middle");
      return [line.left, dot.left + dot.width / 2, line.right, one.left];
    }"""
    low, estimate, high, one = page.evaluate(place, "env.step")
    assert one < low < estimate < high
    low, estimate, high, one = page.evaluate(place, "learn")
    assert low < one + 8
    assert high > one - 8


def test_hover_and_keyboard_reach_every_figure(open_file: Open, pages: dict[str, Path]) -> None:
    page = open_file(pages["compare"])
    page.hover('#verdicts .row[data-name="env.step"]')
    tip = page.inner_text(".tip.shown")
    assert "after" in tip
    assert re.search(r"3\.\d+ ms", tip)
    page.locator('#verdicts .row[data-name="whole"]').focus()
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.activeElement.dataset.name") == "env.step"
    page.hover("#time .parts button >> nth=0")
    assert "own time" in page.inner_text(".tip.shown")
    pairs = page.locator("#pairs .chart")
    pairs.focus()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("End")
    assert pairs.get_attribute("aria-valuenow") == "8"
    assert "Pair 8" in page.inner_text(".tip.shown")
    page.keyboard.press("Escape")
    assert page.locator(".tip.shown").count() == 0


def test_the_table_of_a_comparison_sorts(open_file: Open, pages: dict[str, Path]) -> None:
    page = open_file(pages["compare"])
    page.click("#table th:has-text('Times faster') button")
    first = page.inner_text("#table tbody tr:first-child")
    assert first.startswith("env.step")


def test_work_that_differs_is_told(open_file: Open, tmp_path: Path) -> None:
    made = comparison(updates=(4.0, 1.0))
    page = open_file(written(tmp_path, "work", render_comparison(made)))
    assert "not comparable" in page.inner_text("h1")
    assert "0.25 times the gradient steps" in page.inner_text(".lead")
    assert "pairs" not in sections(page)  # captures have no pairs to show


def test_nothing_finished_is_a_page_too(open_file: Open, tmp_path: Path) -> None:
    made = comparison(n=0)
    page = open_file(written(tmp_path, "none", render_comparison(made, result(made))))
    assert page.inner_text("h1")
    assert "runs" in sections(page)
