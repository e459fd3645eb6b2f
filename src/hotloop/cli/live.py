"""Watch a run in progress.

  hotloop live                 the newest capture below runs/hotloop
  hotloop live CAPTURE         from another terminal, or on a shared folder from another machine
  hotloop live CAPTURE --web   as a page, on this machine only; its address holds a token

`hotloop run --live train.py` shows the same below the program's output. Press q or Ctrl-C to leave;
the run continues.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from hotloop.cli.selection import add_capture_argument, selected_capture


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_capture_argument(parser)
    parser.add_argument("--web", action="store_true", help="serve a page at 127.0.0.1")
    parser.add_argument(
        "--port", type=int, default=0, metavar="N", help="port of that page (default: any)"
    )
    parser.add_argument("--once", action="store_true", help="show the state once and exit")
    parser.add_argument("--foot", action="store_true", help=argparse.SUPPRESS)


def main(options: argparse.Namespace) -> int:
    folder = selected_capture(options.capture)
    if options.web:
        return _serve(folder, options.port)
    if options.foot:
        return _below_a_program(folder)
    if options.once:
        from hotloop.cli.live_viewer import show_once

        show_once(folder)
        return 0
    return _watch(folder)


def _watch(folder: Path) -> int:
    from hotloop.cli.live_viewer import Viewer
    from hotloop.report.console.keys import Keys
    from hotloop.report.console.screen import FullScreen, Lines, Screen, can_be_drawn_on

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


def _below_a_program(folder: Path) -> int:
    """Draw for `hotloop run --live`, which starts and stops this process."""
    from hotloop.cli.live_viewer import Viewer
    from hotloop.report.console.screen import Foot, Lines, Screen, can_be_drawn_on

    parent = os.getppid()
    stop = [False]

    def end(number: int, frame: FrameType | None) -> None:
        stop[0] = True

    signal.signal(signal.SIGTERM, end)
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
    from hotloop.report.html.web import LiveServer

    server = LiveServer(folder, port)
    print(server.address, flush=True)
    print("hotloop: on this machine only; Ctrl-C stops serving, the run continues", file=sys.stderr)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        pass
    finally:
        server.close()
    return 0
