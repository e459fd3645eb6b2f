"""What the pages of all experiments share, in a real browser; and their text."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

pytest.importorskip("scipy")
from experiment_pages import ENVS, Open
from made_experiments import comparison, investigation, sweep
from recorded_run import HOSTILE, until

from hotloop.errors import HotloopError
from hotloop.report.console.terminal import Style
from hotloop.report.results.comparison import comparison_text
from hotloop.report.results.experiments import render
from hotloop.report.results.investigation import investigation_text
from hotloop.report.results.sweep import sweep_text


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


def test_every_kind_is_written_in_every_format() -> None:
    for result in (comparison(), sweep(["1", "2", "4"]), investigation()):
        assert "hotloop" in render(result, "text", Style())
        assert json.loads(render(result, "json", Style()))["schema"].startswith("hotloop.")
        assert str(render(result, "html", Style())).startswith("<!doctype html>")
    assert str(render(investigation(), "markdown", Style())).startswith("# Investigation")
    with pytest.raises(HotloopError, match="an experiment has no markdown"):
        render(sweep(["1", "2", "4"]), "markdown", Style())
