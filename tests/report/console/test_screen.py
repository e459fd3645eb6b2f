"""A foot that leaves the program's output alone, and a full screen."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator

import pytest

from hotloop.report.console.screen import Foot, FullScreen

# -- on a real terminal --
pty = pytest.importorskip("pty", reason="no pseudo-terminals here")


pyte = pytest.importorskip("pyte", reason="pyte is not installed")


class Terminal:
    """A pseudo-terminal and what a person would see on it."""

    def __init__(self, columns: int = 80, rows: int = 30) -> None:
        self.master, self.slave = pty.openpty()
        self.screen = pyte.Screen(columns, rows)
        self._stream = pyte.ByteStream(self.screen)
        self.resize(columns, rows)
        self.file = os.fdopen(self.slave, "w", encoding="utf-8")

    def resize(self, columns: int, rows: int) -> None:
        import fcntl
        import termios

        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.screen.resize(rows, columns)

    def write(self, text: str) -> None:
        self.file.write(text)
        self.file.flush()
        self.shown()

    def shown(self) -> list[str]:
        import select

        while select.select([self.master], [], [], 0.05)[0]:
            self._stream.feed(os.read(self.master, 65536))
        return [line.rstrip() for line in self.screen.display]

    def close(self) -> None:
        self.file.close()
        os.close(self.master)


@pytest.fixture
def terminal() -> Iterator[Terminal]:
    made = Terminal()
    yield made
    made.close()


def test_a_programs_output_scrolls_above_the_foot(terminal: Terminal) -> None:
    terminal.write("before 1\nbefore 2\n")
    foot = Foot(terminal.file)
    height = foot.size()[1]
    assert height == 10
    for number in range(60):
        if number % 5 == 0:
            foot.draw([f"foot {number} line {row}" for row in range(height)])
        terminal.write(f"output {number}\n")
    shown = terminal.shown()
    assert shown[-height:] == [f"foot 55 line {row}" for row in range(height)]
    assert shown[:19] == [f"output {number}" for number in range(41, 60)]
    foot.close()
    terminal.write("after\n")
    shown = terminal.shown()
    assert "after" in shown[19]
    assert not any("foot" in line for line in shown)
    terminal.write("".join(f"more {number}\n" for number in range(40)))
    assert terminal.shown()[28] == "more 39"  # the whole screen is the program's again


def test_a_progress_bar_stays_on_its_line(terminal: Terminal) -> None:
    foot = Foot(terminal.file)
    for number in range(20):
        terminal.write(f"\r{number * 5:3d}%|{'#' * number}")
        foot.draw(["foot"])
    shown = terminal.shown()
    assert [line for line in shown if "%|" in line] == [" 95%|" + "#" * 19]
    foot.close()


def test_the_foot_follows_the_terminals_size(terminal: Terminal) -> None:
    foot = Foot(terminal.file)
    foot.draw([f"line {row}" for row in range(10)])
    terminal.resize(100, 21)
    foot.draw([f"new {row}" for row in range(7)])
    shown = terminal.shown()
    assert shown[-7:] == [f"new {row}" for row in range(7)]
    terminal.resize(100, 12)
    assert foot.size()[1] == 0  # no room: the program needs it
    foot.draw([])
    terminal.write("".join(f"output {number}\n" for number in range(30)))
    assert terminal.shown()[10] == "output 29"
    foot.close()


def test_a_full_screen_gives_back_what_was_there(terminal: Terminal) -> None:
    screen = FullScreen(terminal.file)
    screen.draw(["one", "two"])
    assert terminal.shown()[:3] == ["one", "two", ""]
    assert 1049 << 5 in terminal.screen.mode
    screen.draw(["three"])
    assert terminal.shown()[:2] == ["three", ""]
    screen.close()
    terminal.shown()
    # The emulator has no alternate screen, but it knows whether one was entered and left.
    assert pyte.modes.DECTCEM in terminal.screen.mode
    assert 1049 << 5 not in terminal.screen.mode
