"""The pages of comparisons, sweeps and investigations, in a real browser."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("scipy")

from made_experiments import comparison, investigation, result, sweep, written
from recorded_run import HOSTILE, until

from hotloop.report import units
from hotloop.report.comparison import comparison_text, headline, ratio
from hotloop.report.comparison_page import render_comparison
from hotloop.report.investigation import investigation_text
from hotloop.report.investigation_page import render_investigation
from hotloop.report.sweep_page import render_sweep
from hotloop.report.sweeping import sweep_text
from hotloop.report.terminal import Style

Open = Callable[..., Any]

ENVS = ["1", "2", "4", "8", "16", "32"]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    made = comparison()
    contents = {
        "compare": render_comparison(made, result(made)),
        "sweep": render_sweep(sweep(ENVS)),
        "investigate": render_investigation(investigation()),
    }
    return {name: written(folder, name, page) for name, page in contents.items()}


def sections(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('section')].map((each) => each.id)")  # type: ignore[no-any-return]


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


def test_a_sweep_shows_its_knee_and_what_was_expected(
    open_file: Open, pages: dict[str, Path]
) -> None:
    page = open_file(pages["sweep"])
    assert sections(page) == ["speed", "expected", "time", "growth", "table", "runs"]
    assert page.inner_text("h1").startswith("envs=32 is ")
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


@pytest.mark.parametrize("name", ["compare", "sweep", "investigate"])
def test_hostile_names_are_text(open_file: Open, pages: dict[str, Path], name: str) -> None:
    page = open_file(pages[name])
    body = page.inner_text("body")
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert HOSTILE[0] in body
    for part in page.locator(".parts button").all()[:8]:
        part.hover() if part.is_visible() else None
    assert page.evaluate("window.pwned") is None
    text = pages[name].read_text(encoding="utf-8")
    assert text.count("<script") == text.count("</script>") == 2
    assert "innerHTML" not in text
    assert "unsafe" not in text


@pytest.mark.parametrize("name", ["compare", "sweep", "investigate"])
@pytest.mark.parametrize("width", [360, 768, 1280])
def test_no_screen_is_too_narrow(
    open_file: Open, pages: dict[str, Path], name: str, width: int
) -> None:
    page = open_file(pages[name], width=width, color_scheme="dark")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(20, 23, 27)"


@pytest.mark.parametrize(("name", "part"), [("compare", "table"), ("sweep", "growth")])
def test_links_to_a_part_keep_working(
    open_file: Open, pages: dict[str, Path], name: str, part: str
) -> None:
    page = open_file(pages[name], f"#{part}")
    inside = f"(() => {{ const b = document.getElementById('{part}').getBoundingClientRect(); return b.top < 900 && b.bottom > 0; }})()"
    until(page, inside)


@pytest.mark.parametrize("name", ["compare", "sweep", "investigate"])
def test_without_scripts_there_is_the_text(
    open_file: Open, pages: dict[str, Path], name: str
) -> None:
    page = open_file(pages[name], java_script_enabled=False)
    assert f"hotloop {name}" in page.inner_text("noscript")


@pytest.mark.parametrize("width", [80, 120])
def test_the_text_of_experiments_fits_a_terminal(width: int) -> None:
    style = Style(width=width)
    made = comparison(updates=(4.0, 1.0))
    texts = [
        comparison_text(comparison(), style),
        comparison_text(made, style),
        sweep_text(sweep(ENVS), style),
        sweep_text(sweep(ENVS, ["1", "2"]), style),
        investigation_text(investigation(), style),
    ]
    for text in texts:
        table = [line for line in text.splitlines() if re.search(r" [mµ]s|\(\d", line)]
        assert table
        assert [line for line in table if len(line) > width] == []
        assert "1.65 (1.64 to 1.66)" in texts[0]
