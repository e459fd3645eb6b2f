"""What a person sees: width, plain text, no number lost, nothing hostile."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from small_analyses import S, analysis, finding

from hotloop.capture.window import Window
from hotloop.report import markdown
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report

HOSTILE = "\x1b[2Jevil\r\nname\u202e" + "x" * 150


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["env.step", HOSTILE])
def test_every_line_fits_and_no_number_is_cut(width: int, name: str) -> None:
    text = text_report(make_report(analysis(name), [finding(name)]), Style(width))
    assert max(map(len, text.splitlines())) <= width
    assert "123,456,789" in text
    assert "60.0%" in text
    assert not re.search(r"\d…", text)


def test_what_other_threads_did_before_the_loop_is_left_out() -> None:
    seen = analysis()
    seen.run = replace(seen.run, startup_s=3.0)
    loaded = replace(seen.phases[0], name="import", path="import", depth=0, total_s=2.0)
    other = replace(loaded, name="data", path="data", thread="thread-1")
    seen.startup = [loaded, other]
    assert "Before the loop 3.00 s: import 2.00 s\n" in text_report(
        make_report(seen, []), Style(100)
    )


@pytest.mark.parametrize(("waited", "said"), [(0.5, False), (2.0, True)])
def test_a_machine_that_others_use_is_named(waited: float, said: bool) -> None:
    seen = analysis()
    for number, at in enumerate((1.0, 1.0 + waited)):
        window = Window(number, number, number * 5 * S, (number + 1) * 5 * S)
        window.gauges["main_delay_s"] = at
        seen.loop_windows[number:] = [window]
    seen.functions = []  # no samples: by the scheduler's count
    report = make_report(seen, [])
    text = " ".join(text_report(report, Style(100)).split())
    assert ("waited for a CPU core 40% of the time" in text) is said
    if said:  # first, on every surface
        assert text.index("waited for a CPU core") < text.index(report.verdict.headline[:20])
        assert report.verdict.sentence.startswith("The main thread waited")
        assert markdown.render(report).startswith("**The main thread waited")


def test_findings_come_first() -> None:
    text = text_report(make_report(analysis(), [finding()]), Style())
    assert text.index("env-bound") < text.index("Where the")
    assert "1.20 to 1.80 times faster" in text
    assert "p/train.py:3" in text


def test_color_only_when_asked() -> None:
    assert "\x1b" not in text_report(make_report(analysis(), [finding()]), Style())
    assert "\x1b[" in text_report(make_report(analysis(), [finding()]), Style(color=True))


def test_hostile_names_cannot_move_the_cursor() -> None:
    text = text_report(make_report(analysis(HOSTILE), [finding(HOSTILE)]), Style())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\r" not in text


def test_bars_without_unicode() -> None:
    assert Style(unicode=False).bar(0.5, 10) == "#####     "
    assert len(Style().bar(0.33, 10)) == 10
    assert Style().bar(7, 4) == "████"


def test_a_long_figure_of_the_headline_breaks_between_words() -> None:
    seen = analysis()
    seen.run.counters = {"gradient_steps": 123_456.0, "samples": 123_456.0 * 4096}
    lines = text_report(make_report(seen, []), Style(60)).splitlines()
    joined = " ".join(lines)
    assert "gradient steps/s, " in joined
    assert "training examples/s" in joined


def test_a_gain_that_does_not_fit_beside_its_cause_has_a_line_of_its_own() -> None:
    lines = text_report(make_report(analysis(), [finding()]), Style(40)).splitlines()
    at = next(i for i, line in enumerate(lines) if "env-bound" in line)
    assert lines[at + 1].startswith("  1.20 to 1.80 times faster")
