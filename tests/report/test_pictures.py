"""Pictures: real files, with what they should show, whatever the names are."""

from __future__ import annotations

import io
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest
from made_captures import capture_of, made_shard

from hotloop import units
from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.training import read_capture
from hotloop.report import figures
from hotloop.report.document import Report, make_report
from hotloop.report.figures import DPI
from hotloop.report.pictures import INCHES, render_png, render_svg

pytest.importorskip("matplotlib")


def text_of(svg: bytes) -> str:
    root = ElementTree.fromstring(svg)
    return "\n".join("".join(each.itertext()) for each in root.iter() if each.tag.endswith("text"))


def test_an_svg_says_all_four_things(report: Report) -> None:
    text = text_of(render_svg(report))
    for title in (
        "Own time of each phase",
        "Categories",
        "Over time",
        "Memory and steps per second",
    ):
        assert title in text
    step = [p for p in report.analysis.phases if p.process == "main" and p.name == "env.step"]
    share = sum(p.self_s for p in step) / report.analysis.run.loop_s
    assert units.percent(share) in text
    assert "start-up" in text


def test_every_title_and_name_is_inside_the_picture(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    settle = figures._settle
    monkeypatch.setattr(figures, "_settle", lambda figure: (settle(figure), made.append(figure)))
    render_png(report)
    (figure,) = made
    for axes in figure.axes:
        texts = [axes.title, axes._left_title, *axes.texts]
        legend = axes.get_legend()
        texts += [*legend.get_texts()] if legend is not None else []
        for text in texts:
            box = text.get_window_extent()
            if text.get_text():
                assert figure.bbox.x0 <= box.x0, text
                assert box.x1 <= figure.bbox.x1, text
                assert box.y1 <= figure.bbox.y1, text
        if axes.axison:
            assert axes.get_position().width > 0.2  # wide names leave room for the chart


def test_the_start_up_that_is_not_shown_has_no_name_beside_the_chart(report: Report) -> None:
    text = text_of(render_svg(report))
    assert "start-up" in text
    assert not any(line.startswith("import") for line in text.splitlines())


def test_hostile_names_are_names(report: Report) -> None:
    svg = render_svg(report)
    assert b"<script" not in svg
    assert b"<img" not in svg
    text = text_of(svg)
    assert "</script>" in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_a_png_is_large_enough_to_print(report: Report) -> None:
    image_of = pytest.importorskip("PIL.Image")
    image = image_of.open(io.BytesIO(render_png(report)))
    assert image.size == (round(INCHES[0] * DPI), round(INCHES[1] * DPI))
    assert len(image.convert("RGB").getcolors(1 << 24)) > 20


def test_the_same_figures_give_the_same_file(report: Report) -> None:
    assert render_svg(report) == render_svg(report)


def test_a_run_with_nothing_in_it() -> None:
    capture = capture_of(made_shard("main", {"role": "main", "command": ["x"]}))
    assert render_png(make_report(analyze(capture), [], RunHistory(capture))).startswith(b"\x89PNG")


def test_no_setting_of_the_user_is_changed(recorded: Path) -> None:
    import matplotlib

    before = dict(matplotlib.rcParams)
    capture = read_capture(recorded)
    render_png(make_report(analyze(capture), [], RunHistory(capture)))
    assert dict(matplotlib.rcParams) == before


def test_without_matplotlib_one_line_names_the_extra(recorded: Path, tmp_path: Path) -> None:
    code = "import sys; sys.modules['matplotlib'] = None; from hotloop.cli import main; sys.exit(main())"
    picture = tmp_path / "report.png"
    done = subprocess.run(
        [sys.executable, "-c", code, "report", str(recorded), "-o", str(picture)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert done.stderr == "hotloop: a picture needs matplotlib: pip install 'hotloop[pictures]'\n"
    assert not picture.exists()
