"""Shows a run in progress: reads new windows from its capture once a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.live_state import live_state_of
from hotloop.analyze.processes.training import TrainingReader
from hotloop.capture.reader import Capture
from hotloop.cli.liveness import is_running
from hotloop.diagnose import diagnose
from hotloop.diagnose.finding import Finding
from hotloop.errors import HotloopError
from hotloop.report.console.live_view import dashboard, status_line
from hotloop.report.console.screen import Foot, Lines, Screen, style_of
from hotloop.report.console.terminal import style_for

#: Windows close once a second, so reading more often finds nothing new.
INTERVAL_S = 1.0
#: The viewer uses at most this fraction of a CPU core.
MOST_OF_A_CORE = 0.1
#: Seconds between two lines on a plain terminal, and between two searches for findings.
LINE_INTERVAL_S = 10.0
FINDINGS_INTERVAL_S = 5.0
#: Windows kept: the last minutes in full, the rest merged.
MOST_WINDOWS = 256
MOST_WINDOWS_OF_OTHERS = 32


class Viewer:
    """Reads new windows, and draws."""

    def __init__(
        self, folder: Path, screen: Screen, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader = TrainingReader(folder, MOST_WINDOWS, MOST_WINDOWS_OF_OTHERS)
        self._screen = screen
        self._clock = clock
        self._style = style_for(sys.stderr if isinstance(screen, Foot) else sys.stdout)
        self._findings: list[Finding] = []
        self._findings_at = self._line_at = clock()
        self._windows = -1
        self._killed = False

    def watch(self, pause: Callable[[float], bool]) -> None:
        """Draw until the run ends, or `pause` reports that the user wants to quit."""
        while True:
            begin = time.process_time()
            if self.show():
                return
            spent = time.process_time() - begin
            if pause(max(INTERVAL_S, spent / MOST_OF_A_CORE)):
                return

    def show(self) -> bool:
        """Draw the current state; True when the run has ended."""
        capture = self._read()
        if capture is None:
            return False
        last = capture.main.windows[-1].last if capture.main.windows else -1
        ended = capture.launcher.end is not None or self._killed
        header = capture.launcher.header
        # A killed process wrote no end line. Read and show its last windows.
        self._killed = is_running(header.pid, header.host) is False
        if last != self._windows or ended:
            self._windows = last
            self._draw(capture, ended)
        return ended

    def _read(self) -> Capture | None:
        try:
            return self._reader.read()
        except HotloopError:
            if not self._reader.folder.is_dir():
                raise
            return None  # nothing written yet

    def _draw(self, capture: Capture, ended: bool) -> None:
        analysis = analyze(capture)
        if self._clock() >= self._findings_at or ended:
            self._findings_at = self._clock() + FINDINGS_INTERVAL_S
            self._findings = diagnose(analysis)
        now = live_state_of(capture, analysis, killed=self._killed)
        if isinstance(self._screen, Lines):
            if self._clock() >= self._line_at or ended:
                self._line_at = self._clock() + LINE_INTERVAL_S
                self._screen.draw([status_line(now, analysis)])
            return
        style = style_of(self._screen, self._style)
        rows = self._screen.size()[1]
        self._screen.draw(dashboard(now, analysis, self._findings, style, rows))


def show_once(folder: Path) -> None:
    """Print the current state."""
    capture = TrainingReader(folder, MOST_WINDOWS, MOST_WINDOWS_OF_OTHERS).read()
    analysis = analyze(capture)
    header = capture.launcher.header
    killed = is_running(header.pid, header.host) is False
    state = live_state_of(capture, analysis, killed=killed)
    lines = dashboard(state, analysis, diagnose(analysis), style_for(sys.stdout), height=30)
    Lines(sys.stdout).draw(lines)
