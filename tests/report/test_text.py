"""What a person sees: width, plain text, no number lost, nothing hostile."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from made_shards import made_shard
from small_analyses import S, analysis, finding

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Function
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.episodes import EpisodeDelta
from hotloop.capture.reader import Capture
from hotloop.capture.window import PhaseDelta, Window
from hotloop.report import markdown
from hotloop.report.document import make_report, report_document
from hotloop.report.terminal import Style
from hotloop.report.text import text_report
from hotloop.report.view import View

HOSTILE = "\x1b[2Jevil\r\nname\u202e" + "x" * 150


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["env.step", HOSTILE])
def test_every_line_fits_and_no_number_is_cut(width: int, name: str) -> None:
    text = text_report(make_report(analysis(name), [finding(name)]), Style(width))
    assert max(map(len, text.splitlines())) <= width
    assert "123,456,789" in text
    assert "60.0%" in text
    assert not re.search(r"\d…", text)


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


def test_functions_of_other_threads_follow_those_of_the_main_thread() -> None:
    seen = analysis()
    row = Function("", "/p/a.py", "compress", 1, "main", 4.0, 4.0, 0.4, 80, 0.1, 0.9, 0.0, True)
    seen.functions = [replace(row, function="train", share=0.9)]
    seen.thread_functions = [row]
    text = text_report(make_report(seen, []), Style())
    assert text.index("Hot functions, by") < text.index("Hot functions of other threads")
    assert "40.0%" in text.split("Hot functions of other threads")[1].partition("compress")[0]
    assert "## Hot functions of other threads" in markdown.render(make_report(seen, []))
    seen.thread_functions = [replace(row, share=0.02)]
    assert "of other threads" not in text_report(make_report(seen, []), Style())


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


def test_depth_sort_and_process() -> None:
    deep = text_report(make_report(analysis(), []), Style(), View(depth=1))
    assert "env.step" not in deep.split("Where the")[1].split("Hot functions")[0]
    by_calls = text_report(make_report(analysis(), []), Style(), View(sort="calls", process="all"))
    assert "main" in by_calls


def test_host_time_and_device_time_are_two_columns() -> None:
    """A device's part: both times with their names, why it was idle, lines that move."""
    recorded = DeviceDelta(
        host_ns=S // 10, millicalls=50_000, kernels=150, kernel_ns=S // 50, launches=150,
        late_ns=S // 20, to_host=50, to_host_bytes=400,
    )  # fmt: skip
    phases = {"learn": PhaseDelta(4000, 9 * S, 9 * S, 0, 0, 0, 1, 2, {}), "": PhaseDelta(self_ns=S)}
    window = Window(0, 0, 0, 10 * S, phases, {"env_steps": 1000}, loop_last_ns=10 * S)
    window.device = {"learn": recorded}
    window.gauges = {"gpu_stretches": 3, "gpu_recorded_s": 0.1, "gpu_allocated": 5e6}
    notes = {
        "gpu": {"name": "CUDA", "card": "A card", "mode": "windows", "remarks": ["Two cards."]},
        "transfer_lines": [["/p/train.py", 41, "push", ".item()", 1280, 5120, 1280], ["damaged"]],
    }
    shard = made_shard("main", {"role": "main", "command": ["train.py"]}, notes, [window])
    found = analyze(Capture(Path("run"), [shard]))
    text = text_report(make_report(found, []), Style(100))
    assert max(map(len, text.splitlines())) <= 100
    for words in ("host time", "device time", "Device: A card", "Two cards.", "1.60 s"):
        assert words in text
    assert "84.0% the host had launched nothing" in text
    assert "p/train.py:41 .item()" in text
    document = report_document(make_report(found, []))
    assert document["run"]["device"] == "cuda"
    assert document["device"]["kernel_share"] == pytest.approx(0.16)
    assert document["phases"][0]["device_s"] == pytest.approx(1.6)
    assert document["transfers"] == [
        {"file": "/p/train.py", "line": 41, "function": "push", "what": ".item()",
         "transfers": 1280, "bytes": 5120, "syncs": 1280},
    ]  # fmt: skip


def test_an_episode_that_has_not_ended_does_not_make_the_others_longer() -> None:
    seen = analysis()
    seen.run.counters |= {"env_steps": 2500, "episodes": 12}
    seen.returns.training = EpisodeDelta(episodes=12, length_sum=2400)
    assert "12 episodes of 200 steps" in text_report(make_report(seen, []), Style(100))
