"""The accelerator in the text report: both times, why it was idle, what moved."""

from __future__ import annotations

import pytest
from made_captures import analysis_of, made_shard
from small_analyses import S, analysis

from hotloop.analyze.bounds import Bound
from hotloop.capture.device_delta import DeviceDelta
from hotloop.capture.window import PhaseDelta, Window
from hotloop.report.console.device_text import bound_line, device_text
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report, report_document


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
    found = analysis_of(shard)
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


def test_what_limits_the_loop_is_listed_from_the_largest() -> None:
    seen = analysis()
    seen.bound = Bound(python=0.3, native=0.698, io=0.002)
    assert bound_line(seen) == (
        "What limits the loop (host time): host native code 70%, host Python 30%."
    )
    seen.bound = Bound(kernels=0.8, python=0.2)
    assert bound_line(seen).startswith("GPU-bound: 80% of the loop waits for kernels.")
    seen.bound = None
    assert bound_line(seen) == ""


def test_a_run_without_a_device_has_no_block() -> None:
    assert device_text(analysis(), Style()) == ""
