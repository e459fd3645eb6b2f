"""The live view: lines that fit, a foot that leaves the program's output alone, a safe server."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest
from recorded_run import HOSTILE, findings

from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.live_state import LiveState, live_state_of
from hotloop.analyze.processes.training import read_capture
from hotloop.capture.reader import Capture
from hotloop.report.console.live_view import dashboard, status_line
from hotloop.report.console.terminal import Style

ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def running(recorded: Path) -> Capture:
    """The recorded run, as it was one second before its end."""
    capture = read_capture(recorded)
    capture.main.end = None
    return capture


@pytest.fixture(scope="module")
def now(running: Capture) -> LiveState:
    return live_state_of(running, analyze(running))


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("color", [False, True])
def test_every_line_fits_and_no_number_is_cut(
    now: LiveState, running: Capture, width: int, color: bool
) -> None:
    style = Style(width, color)
    lines = dashboard(now, analyze(running), findings(HOSTILE[3]), style, 30)
    plain = [ESCAPES.sub("", line) for line in lines]
    assert max(map(len, plain)) <= width
    assert ("".join(lines) != "".join(plain)) == color
    text = "\n".join(plain)
    assert not re.search(r"\d…", text)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "env.step" in text
    assert re.search(r"env\.step.* \d+\.\d% +\d+\.\d% +\d", text)


def test_a_finding_whose_title_does_not_fit_goes_by_its_id(
    now: LiveState, running: Capture
) -> None:
    first = findings(HOSTILE[3])[0]
    last = dashboard(now, analyze(running), [first], Style(70), 30)[-1]
    assert f"so far: {first.id}"[: len(last)] in last
    assert "times faster" in last


@pytest.mark.parametrize("height", [6, 8, 10, 24, 60])
def test_it_is_as_high_as_there_is_room(now: LiveState, running: Capture, height: int) -> None:
    lines = dashboard(now, analyze(running), findings(), Style(80), height)
    assert len(lines) <= height
    assert any("env.step" in line for line in lines)
    if height >= 7:
        assert "1.50 to 2.5 times faster" in lines[-1]
    assert ("▁" in "".join(lines) or "█" in "".join(lines)) or height < 8


def test_a_narrow_terminal_loses_no_number(now: LiveState, running: Capture) -> None:
    """Everything that can be known at once: a GPU, workers, large counts."""
    full = replace(now, gpu_busy=0.123, gpu_memory_mb=45_678.0, steps_per_s=1_234_567.0)
    analysis = analyze(running)
    wide = " ".join(dashboard(full, analysis, [], Style(160), 30))
    narrow = " ".join(dashboard(full, analysis, [], Style(60), 30))
    numbers = re.compile(r"\d[\d,.]*")
    assert set(numbers.findall(wide)) == set(numbers.findall(narrow))
    assert {"12.3", "45.68", "1,234,567"} <= set(numbers.findall(narrow))


def test_without_unicode(now: LiveState, running: Capture) -> None:
    lines = dashboard(now, analyze(running), [], Style(80, unicode=False), 24)
    assert any("###" in line for line in lines)
    assert not any("█" in line for line in lines)


def test_one_line_for_a_pipe(now: LiveState, running: Capture) -> None:
    line = status_line(now, analyze(running))
    assert line.startswith("hotloop: ")
    assert "steps/s" in line
    assert "env.step" in line
    assert "\n" not in line


# -- on a real terminal --


# -- the server --
