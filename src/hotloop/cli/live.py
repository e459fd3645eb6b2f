"""Watch a run in progress.

  hotloop live                 the newest capture below runs/hotloop
  hotloop live CAPTURE         from another terminal, or on a shared folder from another machine
  hotloop live CAPTURE --web   as a page, on this machine only; its address holds a token

`hotloop run --live train.py` shows the same below the program's own output. Press q or Ctrl-C to
leave; the run goes on.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from hotloop.analyze.analysis import analyze
from hotloop.analyze.now import now_of
from hotloop.capture.reader import Capture, CaptureReader
from hotloop.cli.report import newest_capture
from hotloop.diagnose import diagnose
from hotloop.diagnose.finding import Finding
from hotloop.errors import HotloopError
from hotloop.report.keys import Keys
from hotloop.report.live_view import dashboard, status_line
from hotloop.report.screen import Foot, FullScreen, Lines, Screen, can_be_drawn_on, style_of
from hotloop.report.terminal import style_for

HELP = "watch a run in progress, on a terminal or as a page"

#: Windows close once a second; more often there is nothing new.
INTERVAL_S = 1.0
#: The viewer takes at most this part of a core from the training that it shows.
MOST_OF_A_CORE = 0.1
#: Between two lines where nothing can be drawn, and between two looks for findings.
LINE_INTERVAL_S = 10.0
FINDINGS_INTERVAL_S = 5.0
#: Windows kept: the last minutes in full, the rest merged.
MOST_WINDOWS = 256
MOST_WINDOWS_OF_OTHERS = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("capture", nargs="?", help="a capture's folder (default: the newest)")
    parser.add_argument("--web", action="store_true", help="as a page at 127.0.0.1")
    parser.add_argument("--port", type=int, default=0, help="its port (default: any that is free)")
    parser.add_argument("--once", action="store_true", help="show the state once and leave")
    parser.add_argument("--foot", action="store_true", help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> int:
    folder = Path(options.capture) if options.capture else newest_capture()
    if options.web:
        return _serve(folder, options.port)
    if options.foot:
        return _below_a_program(folder)
    if options.once:
        return _once(folder)
    draws = can_be_drawn_on(sys.stdout)
    screen: Screen = FullScreen(sys.stdout) if draws else Lines(sys.stdout)
    try:
        with Keys(sys.stdin) as keys:
            viewer = Viewer(folder, screen)
            viewer.watch(lambda seconds: keys.wait("q", seconds))
    except KeyboardInterrupt:
        pass
    finally:
        screen.close()
    return 0


class Viewer:
    """Reads what is new, and draws."""

    def __init__(
        self, folder: Path, screen: Screen, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._reader = CaptureReader(folder, MOST_WINDOWS, MOST_WINDOWS_OF_OTHERS)
        self._screen = screen
        self._clock = clock
        self._style = style_for(sys.stderr if isinstance(screen, Foot) else sys.stdout)
        self._findings: list[Finding] = []
        self._look_at = self._line_at = clock()
        self._windows = -1

    def watch(self, pause: Callable[[float], bool]) -> None:
        """Until the run ends, or `pause` says that somebody wants to leave."""
        while True:
            begin = time.process_time()
            if self.show():
                return
            spent = time.process_time() - begin
            if pause(max(INTERVAL_S, spent / MOST_OF_A_CORE)):
                return

    def show(self) -> bool:
        """Draw the state as it is; True when the run has ended."""
        capture = self._read()
        if capture is None:
            return False
        last = capture.main.windows[-1].last if capture.main.windows else -1
        ended = capture.launcher.end is not None
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
        if self._clock() >= self._look_at or ended:
            self._look_at = self._clock() + FINDINGS_INTERVAL_S
            self._findings = diagnose(analysis)
        now = now_of(capture, analysis)
        if isinstance(self._screen, Lines):
            if self._clock() >= self._line_at or ended:
                self._line_at = self._clock() + LINE_INTERVAL_S
                self._screen.draw([status_line(now, analysis)])
            return
        style = style_of(self._screen, self._style)
        rows = self._screen.size()[1]
        self._screen.draw(dashboard(now, analysis, self._findings, style, rows))


def _once(folder: Path) -> int:
    capture = CaptureReader(folder, MOST_WINDOWS, MOST_WINDOWS_OF_OTHERS).read()
    analysis = analyze(capture)
    screen = Lines(sys.stdout)
    style = style_for(sys.stdout)
    now = now_of(capture, analysis)
    screen.draw(dashboard(now, analysis, diagnose(analysis), style, height=30))
    return 0


def _below_a_program(folder: Path) -> int:
    """Beside `hotloop run --live`, which started this process and ends it."""
    parent = os.getppid()
    stop = [False]

    def end(number: int, frame: FrameType | None) -> None:
        stop[0] = True

    signal.signal(signal.SIGTERM, end)
    if hasattr(signal, "SIGINT"):
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the program
    screen: Screen = Foot(sys.stderr) if can_be_drawn_on(sys.stderr) else Lines(sys.stderr)

    def pause(seconds: float) -> bool:
        due = time.monotonic() + seconds
        while not stop[0] and time.monotonic() < due:
            time.sleep(0.05)
        return stop[0] or os.getppid() != parent

    try:
        Viewer(folder, screen).watch(pause)
    finally:
        screen.close()
    return 0


def _serve(folder: Path, port: int) -> int:
    from hotloop.report.web import LiveServer

    server = LiveServer(folder, port)
    print(server.address, flush=True)
    print("hotloop: on this machine only; Ctrl-C ends it, the run goes on", file=sys.stderr)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0
