"""Markdown, text and detailed JSON: complete, and safe to paste."""

from __future__ import annotations

import json

import pytest
from recorded_run import HOSTILE

from hotloop import units
from hotloop.report.detailed import render as render_detailed
from hotloop.report.document import Report
from hotloop.report.markdown import code, escape, prose, render


def test_it_says_what_the_report_says(report: Report) -> None:
    text = render(report)
    run = report.analysis.run
    # On a busy machine that comes first.
    starved = report.verdict.starvation
    assert text.startswith(f"**{prose(starved)}**" if starved else "# ")
    assert f"# {prose(report.verdict.headline)}\n" in text
    assert "The simulator takes most of the loop" in text
    assert f"{units.rate(run.steps_per_s)} steps/s" in text
    assert "**1.50 to 2.5 times faster** (high confidence)" in text
    for phase in ("collect", "learn.backward", "checkpoint"):
        assert phase in text
    assert "## Processes" in text
    assert "env-0" in text
    assert text.index("times faster") < text.index("| phase |") < text.index("## Hot functions")


def test_a_real_parser_finds_tables_and_nothing_hostile(report: Report) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("gfm-like", {"linkify": False}).enable("table")
    tokens = parser.parse(render(report))
    kinds = [token.type for token in tokens]
    # Phases, functions, processes; and functions of the workers, if enough samples met them.
    of_workers = any(f.process != "main" and f.share >= 0.005 for f in report.analysis.functions)
    assert kinds.count("table_open") == 3 + of_workers
    assert "html_block" not in kinds
    inline = [child for token in tokens for child in token.children or []]
    assert not {"html_inline", "link_open", "image"} & {child.type for child in inline}
    # Every row has as many cells as its heading: no name ends one early.
    row: list[int] = []
    for kind in kinds:
        if kind == "tr_open":
            row.append(0)
        elif kind in ("td_open", "th_open"):
            row[-1] += 1
        elif kind == "table_close":
            assert len(set(row)) == 1
            row = []


@pytest.mark.parametrize("name", HOSTILE)
def test_escaping(name: str) -> None:
    text = escape(name)
    assert "<" not in text
    assert "@" not in text
    assert "\x1b" not in text
    assert "://" not in escape("http://x")
    assert code(name).count("`") == 2
    assert code("") == ""


def test_code_in_advice_is_code() -> None:
    assert prose("Use `torch.no_grad`, not *this*") == "Use `torch.no_grad`, not \\*this\\*"
    assert prose("one ` alone") == "one \\` alone"
    assert prose("`<b>` & <b>") == "`<b>` &amp; &lt;b>"


def test_detailed_json_has_what_an_analyzer_needs(report: Report) -> None:
    document = json.loads(render_detailed(report))
    assert document["schema"] == "hotloop.detailed/1"
    assert document["findings"][0]["id"] == "env-bound"
    scores = [row["score"] for row in document["bottlenecks"]]
    assert scores == sorted(scores, reverse=True)
    worst = document["bottlenecks"][0]
    assert {"score", "share", "mean_s", "calls", "marks", "recommendations"} <= set(worst)
    assert any("30%" in text for row in document["bottlenecks"] for text in row["recommendations"])
    points = document["course"]["points"]
    steps = sum(point["counters"].get("env_steps", 0) for point in points)
    assert steps == report.analysis.run.env_steps
    assert {event["name"] for event in document["course"]["events"]} == {"evaluate", "checkpoint"}
    assert set(document["trees"]) == {"main", "env (2)"}
    assert len(document["functions"]) == len(report.analysis.functions)
