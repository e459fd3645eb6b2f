"""What a person sees: width, plain text, no number lost, nothing hostile."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hotloop.analyze.analysis import analyze
from hotloop.analyze.model import Analysis
from hotloop.capture.device import DeviceDelta
from hotloop.capture.lines import StackRow
from hotloop.capture.reader import Capture, Shard
from hotloop.capture.window import PhaseDelta, Window
from hotloop.diagnose.finding import Finding, Gain, Place
from hotloop.report import units
from hotloop.report.document import report_document
from hotloop.report.output import format_of, render, save
from hotloop.report.terminal import Style, clean, fit
from hotloop.report.text import View, text_report

S = 1_000_000_000
HOSTILE = "\x1b[2Jevil\r\nname\u202e" + "x" * 150


def analysis(name: str = "env.step") -> Analysis:
    phases = {
        "collect": PhaseDelta(100, 1 * S, 7 * S, 0, 0, 0, 1, 2, {}),
        f"collect/{name}": PhaseDelta(123_456_789, 6 * S, 6 * S, 1, 9, 500_000_000, 1, 2, {100: 5}),
        "learn": PhaseDelta(100, 2 * S, 2 * S, 0, 0, 0, 1, 2, {}),
        "": PhaseDelta(self_ns=S),
    }
    window = Window(0, 0, 0, 10 * S, phases, {"env_steps": 1_000_000, "episodes": 5000})
    window.loop_last_ns = 10 * S
    window.samples = {(f"collect/{name}", 1, 0): [100, 5 * S]}
    shard = Shard("main", {"role": "main", "command": ["train.py", "--x", name]}, {}, [window])
    shard.stacks = {1: StackRow(1, 0, f"/p/{name}.py", f"Env.{name}", 1, 2)}
    return analyze(Capture(Path("run"), [shard]))


def finding(text: str = "Slow") -> Finding:
    return Finding(
        "env-bound", "warning", text, "env.step", Gain(1.2, 1.8), "medium", "Do this.",
        "hotloop compare a b", [Place("/p/train.py", 3, text)], {"share": 0.6},
    )  # fmt: skip


@pytest.mark.parametrize("width", [80, 100, 120])
@pytest.mark.parametrize("name", ["env.step", HOSTILE])
def test_every_line_fits_and_no_number_is_cut(width: int, name: str) -> None:
    text = text_report(analysis(name), [finding(name)], Style(width))
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
    text = " ".join(text_report(seen, [], Style(100)).split())
    assert ("ready without a core for 40% of the loop" in text) is said


def test_findings_come_first() -> None:
    text = text_report(analysis(), [finding()], Style())
    assert text.index("env-bound") < text.index("Where the")
    assert "1.2 to 1.8 times faster" in text
    assert "p/train.py:3" in text


def test_colour_only_when_asked() -> None:
    assert "\x1b" not in text_report(analysis(), [finding()], Style())
    assert "\x1b[" in text_report(analysis(), [finding()], Style(colour=True))


def test_hostile_names_cannot_move_the_cursor() -> None:
    text = text_report(analysis(HOSTILE), [finding(HOSTILE)], Style())
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "\r" not in text


def test_bars_without_unicode() -> None:
    assert Style(unicode=False).bar(0.5, 10) == "#####     "
    assert len(Style().bar(0.33, 10)) == 10
    assert Style().bar(7, 4) == "████"


def test_depth_sort_and_process() -> None:
    deep = text_report(analysis(), [], Style(), View(depth=1))
    assert "env.step" not in deep.split("Where the")[1].split("Hot functions")[0]
    by_calls = text_report(analysis(), [], Style(), View(sort="calls", process="all"))
    assert "main" in by_calls


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0 s"),
        (12e-9, "12 ns"),
        (0.000999, "999 µs"),
        (0.0009999, "1.00 ms"),
        (0.045678, "45.7 ms"),
        (1.234, "1.23 s"),
        (99.96, "100 s"),
        (200, "3 min 20 s"),
        (7325, "2 h 02 min"),
    ],
)
def test_seconds(value: float, text: str) -> None:
    assert units.seconds(value) == text


def test_other_units() -> None:
    assert units.percent(0.12345) == "12.3%"
    assert units.count(1234567) == "1,234,567"
    assert units.megabytes(1500) == "1.50 GB"
    assert units.rate(0.5) == "0.50"
    assert units.listing(["a", "b", "c"]) == "a, b and c"


def test_clean_and_fit() -> None:
    assert clean("a\x1bb\n") == "a�b�"
    assert fit("abcdefghij", 7) == "abc…hij"
    assert len(fit("x" * 99, 20)) == 20


def test_the_document_has_every_name_of_the_schema() -> None:
    document = json.loads(json.dumps(report_document(analysis(), [finding()])))
    assert document["schema"] == "hotloop.report/1"
    assert {
        "command", "wall_s", "loop_s", "env_steps", "episodes", "gradient_steps", "steps_per_s",
        "device", "processes",
    } <= set(document["run"])  # fmt: skip
    assert {"region_ns", "regions", "share", "corrected"} <= set(document["overhead"])
    assert {
        "path", "name", "category", "process", "calls", "total_s", "self_s", "share", "mean_s",
        "min_s", "max_s", "p50_s", "p95_s", "p99_s", "cpu_peak_mb", "gpu_peak_mb", "score",
    } <= set(document["phases"][0])  # fmt: skip
    assert {
        "id", "severity", "title", "phase", "where", "evidence", "gain", "confidence", "fix",
        "verify",
    } <= set(document["findings"][0])  # fmt: skip
    assert document["verdict"]
    assert sum(document["categories"].values()) == pytest.approx(0.9, abs=0.01)


def test_output_by_ending(tmp_path: Path) -> None:
    from hotloop.errors import HotloopError

    assert format_of(Path("a.json")) == "json"
    with pytest.raises(HotloopError, match=r"known are .*\.json"):
        format_of(Path("a.doc"))
    path = tmp_path / "report.json"
    text: Any = render("json", analysis(), [])
    save(path, text, force=False)
    with pytest.raises(HotloopError, match="-f overwrites"):
        save(path, text, force=False)
    save(path, text, force=True)
    with pytest.raises(HotloopError, match="cannot be written"):
        save(tmp_path / "no" / "report.json", text, force=False)


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
    shard = Shard("main", {"role": "main", "command": ["train.py"]}, notes, [window])
    found = analyze(Capture(Path("run"), [shard]))
    text = text_report(found, [], Style(100))
    assert max(map(len, text.splitlines())) <= 100
    for words in ("host time", "device time", "The device: A card", "Two cards.", "1.60 s"):
        assert words in text
    assert "84.0% the host had launched nothing" in text
    assert "p/train.py:41 .item()" in text
    document = report_document(found, [])
    assert document["run"]["device"] == "cuda"
    assert document["device"]["kernel_share"] == pytest.approx(0.16)
    assert document["phases"][0]["device_s"] == pytest.approx(1.6)
    assert document["transfers"] == [
        {"file": "/p/train.py", "line": 41, "function": "push", "what": ".item()",
         "transfers": 1280, "bytes": 5120, "syncs": 1280},
    ]  # fmt: skip
