"""The page in a real browser: opened, clicked, walked with the keyboard, attacked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from made_captures import capture_of, made_shard
from recorded_run import HOSTILE, findings, until

from hotloop import units
from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Capture
from hotloop.capture.window import PhaseDelta, Window
from hotloop.report.document import Report, make_report
from hotloop.report.html.page import asset, embed, render, shell
from hotloop.report.html.page_data import page_data, short

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def page_file(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("page") / "report.html"
    path.write_text(render(report), encoding="utf-8")
    return path


@pytest.fixture
def open_page(open_file: Open, page_file: Path) -> Open:
    """Opens the report, or another page."""

    def open_at(place: str = "", path: Path = page_file, **options: Any) -> Any:
        return open_file(path, place, **options)

    return open_at


def boxes(page: Any) -> list[str]:
    return [
        text.split("%")[0].rstrip("0123456789.") for text in page.locator(".box").all_inner_texts()
    ]


def test_what_matters_comes_first(open_page: Open, report: Report) -> None:
    page = open_page()
    order = page.evaluate("[...document.querySelectorAll('section')].map((each) => each.id)")
    assert order == ["findings", "breakdown", "timeline", "processes", "phases", "functions", "run"]
    assert report.findings[0].title in page.inner_text("h1")
    assert units.rate(report.analysis.run.steps_per_s) in page.inner_text(".figures")
    finding = page.inner_text("#finding-env-bound")
    for text in (
        "1.50–2.5× faster",
        "high confidence",
        "62.0%",
        "2.00 ms",
        "120 MB",
        "train.py:12",
    ):
        assert text in finding
    assert "faster" not in page.inner_text("#finding-longer-episodes")


def test_every_figure_of_the_table_is_the_reports(open_page: Open, report: Report) -> None:
    page = open_page()
    rows = page.locator("#phases tbody tr")
    phases = [p for p in report.analysis.phases if p.process == "main"]
    assert rows.count() == len(phases)
    collect = next(p for p in phases if p.path == "collect")
    text = page.inner_text('#phases tr[data-path="collect"]')
    for value in (collect.total_s, collect.mean_s, collect.p50_s, collect.p99_s, collect.max_s):
        # The page has five digits of each; rounding twice may differ from rounding once.
        assert units.seconds(short(value)) in text
    assert units.count(collect.calls) in text
    assert units.percent(short(collect.share)) in text


def test_a_box_opens_into_functions_and_lines(open_page: Open) -> None:
    page = open_page()
    page.click('.box[data-path="collect/env.step"][data-kind="phase"]')
    assert page.inner_text(".crumbs").startswith("training loop › collect › env.step")
    assert "#phase=collect/env.step" in page.url
    assert any(name.startswith("simulate") or name.startswith("work") for name in boxes(page))
    page.click('.box[data-kind="function"] >> nth=0')
    assert re.search(r"train\.py:\d+", page.inner_text(".detail"))
    assert re.search(r"line \d+", page.inner_text(".detail"))
    chosen = page.locator("#phases tr.chosen")
    assert chosen.get_attribute("data-path") == "collect/env.step"
    page.click(".crumbs button >> nth=0")
    assert "training loop" in boxes(page)[0]


def test_the_tree_by_keyboard(open_page: Open) -> None:
    page = open_page()
    page.locator(".field").focus()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className").startswith("box root")
    assert page.locator(".tip.shown").count() == 1
    page.keyboard.press("ArrowDown")
    first = page.evaluate("document.activeElement.dataset.path")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.path") != first
    page.keyboard.press("ArrowLeft")
    assert page.evaluate("document.activeElement.dataset.path") == first
    assert "share" in page.inner_text(".tip")
    page.keyboard.press("Enter")
    assert f"phase={first}" in page.url
    assert page.evaluate("document.activeElement.dataset.path") == first
    page.keyboard.press("Escape")
    assert page.locator(".box.root").count() == 1
    page.keyboard.press("ArrowUp")
    assert page.evaluate("document.activeElement.getAttribute('aria-level')") == "1"


def test_hover_says_every_figure(open_page: Open, report: Report) -> None:
    page = open_page()
    page.hover('.box[data-path="collect"]')
    tip = page.inner_text(".tip.shown")
    collect = next(p for p in report.analysis.phases if p.path == "collect")
    share = re.search(r"share\s+([\d.]+)%", tip)
    assert share is not None
    assert float(share[1]) == pytest.approx(100 * collect.share, abs=0.11)  # rounded twice
    assert units.count(collect.calls) in tip
    page.hover(".categories button >> nth=0")
    assert "of the loop" in page.inner_text(".tip.shown")
    page.hover("#timeline .chart")
    assert "steps per second" in page.inner_text(".tip.shown")
    page.hover("#processes .name >> nth=1")
    assert "peak memory" in page.inner_text(".tip.shown")
    page.mouse.move(5, 5)
    assert page.locator(".tip.shown").count() == 0


def test_the_time_line_by_keyboard(open_page: Open, report: Report) -> None:
    page = open_page()
    chart = page.locator("#timeline .chart")
    chart.focus()
    page.keyboard.press("End")
    page.keyboard.press("Home")
    assert chart.get_attribute("aria-valuenow") == "0"
    assert "start-up" in page.inner_text(".tip.shown")
    for _ in range(3):
        page.keyboard.press("ArrowRight")
    assert chart.get_attribute("aria-valuenow") == "3"
    assert "steps per second" in chart.get_attribute("aria-valuetext")
    assert "training loop" in page.inner_text(".tip.shown")
    names = page.locator("#timeline .event").evaluate_all("all => all.map(e => e.ariaLabel)")
    assert {name.split(" at ")[0] for name in names} == {"evaluate", "checkpoint"}
    assert page.locator("#timeline .aside").count() >= 1


def test_links_to_a_part_keep_working(open_page: Open, page_file: Path) -> None:
    page = open_page("#phase=learn/learn.backward&sort=calls")
    assert page.inner_text(".crumbs").endswith("learn.backward")
    assert page.locator("#phases tr.chosen").get_attribute("data-path") == "learn/learn.backward"
    assert page.locator('#phases th[aria-sort="descending"]').inner_text().startswith("Calls")
    top = "document.getElementById('%s').getBoundingClientRect().top"
    until(page, top % "breakdown" + " < 300")
    page.goto(page_file.as_uri() + "#finding=env-bound")
    until(page, top % "finding-env-bound" + " < 300")
    page.evaluate("location.hash = '#timeline'")
    until(page, top % "timeline" + " < 300")
    page.evaluate("location.hash = '#phase=collect'")
    until(page, "document.querySelector('.crumbs').textContent.endsWith('collect')")
    page.evaluate("location.hash = '#phase=no/such%&sort=no'")
    until(page, "document.querySelector('.box.root') !== null")
    page.go_back()
    until(page, "document.querySelector('.crumbs').textContent.endsWith('collect')")


def test_workers_have_a_tree_and_a_row_each(open_page: Open) -> None:
    page = open_page()
    assert page.locator("#processes .row").count() == 4  # with its heading
    page.click("text=env (2)")
    assert "process=env" in page.url
    assert "wait" in " ".join(boxes(page))
    assert "env (2) together" in page.inner_text(".detail")


def test_the_table_sorts(open_page: Open) -> None:
    page = open_page()
    calls = "all => all.map(row => row.cells[5].textContent)"

    def shown() -> list[int]:
        cells = page.locator("#phases tbody tr").evaluate_all(calls)
        return [int(cell.replace(",", "").replace("–", "0")) for cell in cells]

    in_tree = shown()
    page.click("#phases th:has-text('Calls') button")
    assert shown() == sorted(in_tree, reverse=True)
    page.click("#phases th:has-text('Calls') button")
    assert shown() == sorted(in_tree)
    page.click("#phases th:has-text('Calls') button")
    assert shown() == in_tree
    page.fill(".field", "backward")
    assert page.locator(".box.faded").count() > 0
    assert page.locator(".box:not(.faded)").count() >= 1


def test_both_themes(open_page: Open) -> None:
    background = "getComputedStyle(document.body).backgroundColor"
    page = open_page(color_scheme="dark")
    dark = page.evaluate(background)
    page.click(".theme")
    light = page.evaluate(background)
    assert (dark, light) == ("rgb(20, 23, 27)", "rgb(255, 255, 255)")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    assert "dark" in page.get_attribute(".theme", "aria-label")
    assert open_page(color_scheme="light").evaluate(background) == light


def test_text_can_be_read_in_both_themes(open_page: Open) -> None:
    """WCAG 2.1: at least 4.5 to 1 for text on what is behind it."""
    contrast = """
    (names) => {
      const channel = (value) => value <= 0.03928 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
      const light = (color) => {
        const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
        canvas.fillStyle = color;
        canvas.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...canvas.getImageData(0, 0, 1, 1).data].map((each) => channel(each / 255));
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const style = getComputedStyle(document.documentElement);
      const value = (name) => name.startsWith("#") ? name : style.getPropertyValue("--" + name).trim();
      return names.map(([one, other]) => {
        const [a, b] = [light(value(one)), light(value(other))].sort((x, y) => y - x);
        return (a + 0.05) / (b + 0.05);
      });
    }"""
    from hotloop.report.palette import CATEGORY_COLORS, OTHER_COLORS

    pairs = [
        [name, "surface"] for name in ("text", "muted", "accent", "critical", "warning", "healthy")
    ]
    pairs += [[name, f"{name}-soft"] for name in ("critical", "warning", "info", "healthy")]
    pairs += [["on-color", color] for color in (*CATEGORY_COLORS.values(), *OTHER_COLORS)]
    for scheme in ("light", "dark"):
        ratios = open_page(color_scheme=scheme).evaluate(contrast, pairs)
        weak = [(pair, round(r, 2)) for pair, r in zip(pairs, ratios, strict=True) if r < 4.5]
        assert weak == []


@pytest.mark.parametrize("width", [360, 390, 768, 1280])
def test_no_screen_is_too_narrow(open_page: Open, width: int) -> None:
    page = open_page(width=width)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.click('.box[data-path="collect"]')
    until(page, "document.querySelector('.crumbs').textContent.endsWith('collect')")


def test_hostile_names_are_text(open_page: Open) -> None:
    page = open_page()
    assert page.evaluate("window.pwned") is None
    assert page.locator("img").count() == 0
    assert page.locator("script").count() == 2
    assert not re.search("[\u202e\x1b]", page.inner_text("body"))
    names = page.locator("#phases tbody td:first-child a").all_inner_texts()
    assert HOSTILE[0] in names
    assert HOSTILE[1] in names
    assert HOSTILE[0] in page.inner_text("#finding-env-bound")
    assert page.locator("a").evaluate_all("all => all.every(e => e.protocol === 'file:')")
    for name in HOSTILE[:2]:
        page.locator("#phases tbody td:first-child a", has_text=name).click()
        # A link changes the address, and the page follows a moment later.
        until(page, f"document.querySelector('.crumbs').textContent.endsWith({json.dumps(name)})")
        page.hover(".box >> nth=0")
        assert name in page.inner_text(".tip.shown")
    assert page.evaluate("window.pwned") is None


def test_the_file_itself_lets_nothing_in(page_file: Path, report: Report) -> None:
    text = page_file.read_text(encoding="utf-8")
    assert len(text.encode()) < 1_000_000
    assert text.count("<script") == text.count("</script>") == 2
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert policy is not None
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert re.search(r"<script>.*innerHTML", text, re.DOTALL) is None
    data = embed({"a": "</script><!--\u2028\u2029&", "b": float("inf"), "c": [float("nan")]})
    assert not re.search("[<>&\u2028\u2029]", data)
    assert json.loads(data) == {"a": "</script><!--\u2028\u2029&", "b": None, "c": [None]}
    assert "&lt;img src=x" in shell("<img src=x>", {}, ())
    # Without scripts there is still the report, as text.
    assert "Where the" in text.split("<noscript>")[1].split("</noscript>")[0]


def test_numbers_are_written_as_everywhere_else(browser: Any) -> None:
    values = [0, 12e-9, 4.44e-7, 0.000999, 0.0009999, 0.045678, 1.234, 9.994, 9.996, 99.96, 119.9]
    values += [200.3, 3599, 7325, 86399]
    counts = [0, 7, 999, 1000, 12345, 1234567]
    script = asset("format.js") + """
      return { seconds: %s.map(format.seconds), count: %s.map(format.count), rate: %s.map(format.rate),
               megabytes: [1, 999, 1500].map(format.megabytes), percent: [0.1234, 1].map(format.percent) };
    """ % (values, counts, [0, 0.456, 12.34, 999, 12345])  # fmt: skip
    page = browser.new_page()
    written = page.evaluate("(source) => new Function(source)()", script)
    page.close()
    assert written["seconds"] == [units.seconds(value) for value in values]
    assert written["count"] == [units.count(value) for value in counts]
    assert written["rate"] == [units.rate(value) for value in (0, 0.456, 12.34, 999, 12345)]
    assert written["megabytes"] == [units.megabytes(value) for value in (1, 999, 1500)]
    assert written["percent"] == [units.percent(value) for value in (0.1234, 1)]


LIBRARIES = {
    "torch": {"version": "2.1", "places": 12, "missing": []},
    "Gymnasium": {"version": "1.4.0", "places": 7, "missing": ["gymnasium.core:Env.step"]},
    "SQLite": {"version": "unknown", "places": 0, "missing": []},
}


def small_captures() -> dict[str, Capture]:
    header = {"role": "main", "command": ["train.py"]}
    bare = Window(0, 0, 0, 10**9, {"": PhaseDelta(self_ns=10**9)})
    phase = Window(0, 0, 0, 10**9, {"env.step": PhaseDelta(5, 10**8, 10**8, 1, 9, 0, 1, 2)})
    phase.loop_last_ns = 10**9
    return {
        "nothing": capture_of(made_shard("main", header)),
        "no phase": capture_of(made_shard("main", header, {}, [bare])),
        "one phase": capture_of(made_shard("main", header, {}, [phase])),
    }


@pytest.mark.parametrize("name", ["nothing", "no phase", "one phase"])
def test_runs_with_little_to_show(open_page: Open, tmp_path: Path, name: str) -> None:
    capture = small_captures()[name]
    path = tmp_path / "report.html"
    path.write_text(
        render(make_report(analyze(capture), [], RunHistory(capture))), encoding="utf-8"
    )
    page = open_page(path=path)
    assert page.inner_text("h1")
    assert "No known cause" in page.inner_text("#findings")


def test_what_only_some_runs_have(open_page: Open, tmp_path: Path) -> None:
    """A warm-up, a GPU, exact functions, a compilation, many functions."""
    windows = []
    for number in range(60):
        begin, steps = number * 10**9, 10 if number < 9 else 40
        phases = {
            "env.step": PhaseDelta(steps, 6 * 10**8, 6 * 10**8, 1, 9, 0, begin + 1, begin + 2),
            "compile": PhaseDelta(1, 10**8, 10**8, 1, 9, 0, begin + 1, begin + 10**8),
        }
        window = Window(number, number, begin, begin + 10**9, phases, {"env_steps": steps})
        window.gauges = {"gpu_busy_ns": 4e8, "gpu_memory": 3e9, "resident": 5e8}
        window.loop_last_ns = window.end_ns
        window.samples = {("env.step", n, 0): [1, 10**7] for n in range(1, 31)}
        windows.append(window)
    row = {"file": "/p/a.py", "line": 3, "function": "<lambda>", "calls": 5, "self_s": 1.0}
    notes = {"exact_functions": [{**row, "total_s": 2.0}], "libraries": LIBRARIES}
    shard = made_shard("main", {"role": "main", "command": ["train.py"]}, notes, windows)
    shard.stacks = {n: StackRow(n, 0, "/p/a.py", f"f{n}", n, n) for n in range(1, 31)}
    capture = capture_of(shard)
    path = tmp_path / "report.html"
    path.write_text(
        render(make_report(analyze(capture), [], RunHistory(capture))), encoding="utf-8"
    )
    page = open_page(path=path)
    assert page.locator("#timeline .warm").count() == 1
    page.click("text=Per environment step")
    assert "20 ms" in page.inner_text("#timeline .chart")
    page.click("text=Share of time")
    titles = page.locator("#timeline .title").all_text_contents()
    assert titles == ["Environment steps per second", "Memory", "GPU busy", "GPU memory"]
    page.locator("#timeline .chart").focus()
    page.keyboard.press("End")
    tip = page.inner_text(".tip.shown")
    assert "40.0%" in tip
    assert "3.00 GB" in tip
    assert "2.00 s" in page.inner_text("#exact")
    run = page.inner_text("#run")
    assert "2.1" in run
    assert "1.4.0 (1 target not found)" in run
    assert "version unknown" in run
    assert page.locator("#functions tbody tr").count() == 20
    page.click("#functions .more")
    assert page.locator("#functions tbody tr").count() == 30


def test_a_long_run_with_many_workers_stays_small(recorded: Path) -> None:
    """Eight hours and 64 workers in little; `benchmarks/stretch.py` makes the real thing."""
    capture = read_capture(recorded)
    windows = capture.main.windows
    main, worker = capture.shards[:2]
    from dataclasses import replace

    main.windows = [
        replace(
            w, first=n, last=n, begin_ns=n * 10**9, end_ns=(n + 1) * 10**9, loop_last_ns=n * 10**9
        )
        for n, w in enumerate(windows[1:-1] * 200)
    ]
    capture.shards = [main] + [
        made_shard(
            f"w-{n}", {**worker.header.raw, "role": f"w-{n}"}, {}, worker.windows, worker.stacks
        )
        for n in range(64)
    ]
    analysis = analyze(capture)
    data = page_data(make_report(analysis, findings(), RunHistory(capture)))
    assert len(data["course"]["points"]) <= 250
    assert len(data["processes"]["rows"]) == 65
    assert [tree["group"] for tree in data["trees"]] == ["main", "w (64)"]
    assert len(embed(data)) < 500_000
