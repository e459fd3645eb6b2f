"""The live view: lines that fit, a foot that leaves the program's output alone, a safe server."""

from __future__ import annotations

import http.client
import os
import re
import struct
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from recorded_run import HOSTILE, findings, until

from hotloop.analyze.analysis import analyze
from hotloop.analyze.now import Now, now_of
from hotloop.capture.reader import Capture, read_capture
from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter
from hotloop.errors import HotloopError
from hotloop.report.live_view import dashboard, status_line
from hotloop.report.screen import Foot, FullScreen
from hotloop.report.terminal import Style
from hotloop.report.web import LiveServer

S = 1_000_000_000
ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


@pytest.fixture(scope="module")
def running(recorded: Path) -> Capture:
    """The recorded run, as it was one second before its end."""
    capture = read_capture(recorded)
    capture.main.end = None
    return capture


@pytest.fixture(scope="module")
def now(running: Capture) -> Now:
    return now_of(running, analyze(running))


@pytest.mark.parametrize("width", [60, 80, 100, 160])
@pytest.mark.parametrize("colour", [False, True])
def test_every_line_fits_and_no_number_is_cut(
    now: Now, running: Capture, width: int, colour: bool
) -> None:
    style = Style(width, colour)
    lines = dashboard(now, analyze(running), findings(HOSTILE[3]), style, 30)
    plain = [ESCAPES.sub("", line) for line in lines]
    assert max(map(len, plain)) <= width
    assert ("".join(lines) != "".join(plain)) == colour
    text = "\n".join(plain)
    assert not re.search(r"\d…", text)
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "env.step" in text
    assert re.search(r"env\.step.* \d+\.\d% +\d+\.\d% +\d", text)


@pytest.mark.parametrize("height", [6, 8, 10, 24, 60])
def test_it_is_as_high_as_there_is_room(now: Now, running: Capture, height: int) -> None:
    lines = dashboard(now, analyze(running), findings(), Style(80), height)
    assert len(lines) <= height
    assert any("env.step" in line for line in lines)
    if height >= 7:
        assert "1.5 to 2.5x" in lines[-1]
    assert ("▁" in "".join(lines) or "█" in "".join(lines)) or height < 8


def test_a_narrow_terminal_loses_no_number(now: Now, running: Capture) -> None:
    """Everything that can be known at once: a GPU, workers, large counts."""
    full = replace(now, gpu_busy=0.123, gpu_memory_mb=45_678.0, steps_per_s=1_234_567.0)
    analysis = analyze(running)
    wide = " ".join(dashboard(full, analysis, [], Style(160), 30))
    narrow = " ".join(dashboard(full, analysis, [], Style(60), 30))
    numbers = re.compile(r"\d[\d,.]*")
    assert set(numbers.findall(wide)) == set(numbers.findall(narrow))
    assert {"12.3", "45.68", "1,234,567"} <= set(numbers.findall(narrow))


def test_without_unicode(now: Now, running: Capture) -> None:
    lines = dashboard(now, analyze(running), [], Style(80, unicode=False), 24)
    assert any("###" in line for line in lines)
    assert not any("█" in line for line in lines)


def test_one_line_for_a_pipe(now: Now, running: Capture) -> None:
    line = status_line(now, analyze(running))
    assert line.startswith("hotloop: ")
    assert "steps/s" in line
    assert "env.step" in line
    assert "\n" not in line


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


# -- the server --


@pytest.fixture
def growing(tmp_path: Path) -> Iterator[ShardWriter]:
    """A run that goes on as long as the test writes windows."""
    writer = ShardWriter(tmp_path, "main", {"role": "main", "command": ["train.py", HOSTILE[0]]})
    yield writer
    writer.close()


def window(number: int, steps: int) -> Window:
    begin = number * S
    phases = {"env.step": PhaseDelta(steps, S // 2, S // 2, 1, 9, 0, begin + 1, begin + S)}
    phases[""] = PhaseDelta(self_ns=S // 2)
    return Window(number, number, begin, begin + S, phases, {"env_steps": steps}, {}, {}, begin + S)


@pytest.fixture
def server(growing: ShardWriter, tmp_path: Path) -> Iterator[LiveServer]:
    for number in range(3):
        growing.window(window(number, 100))
    made = LiveServer(tmp_path)
    thread = threading.Thread(target=made.serve_forever, daemon=True)
    thread.start()
    yield made
    made.close()
    thread.join(5)


def ask(server: LiveServer, path: str, host: str | None = None, method: str = "GET") -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
    connection.request(method, path, headers={"Host": host} if host else {})
    answer = connection.getresponse()
    answer.text = answer.read().decode()  # type: ignore[attr-defined]
    connection.close()
    return answer


def test_only_the_token_opens_it(server: LiveServer) -> None:
    token = urlsplit(server.address).path
    assert len(token) >= 20
    assert ask(server, token).status == 200
    assert ask(server, token + "data").status == 200
    for path in (
        "/",
        "/data",
        token[:-2] + "/",
        token + "x",
        token + "../data",
        "/favicon.ico",
        "//",
    ):
        answer = ask(server, path)
        assert answer.status == 404
        assert token.strip("/") not in answer.text
    assert ask(server, token, method="POST").status == 501


def test_no_other_host_and_no_other_origin(server: LiveServer) -> None:
    token = urlsplit(server.address).path
    assert ask(server, token, host=f"localhost:{server.port}").status == 200
    for host in ("evil.example", f"evil.example:{server.port}", "127.0.0.1", ""):
        assert ask(server, token, host=host or "x").status == 403
    headers = ask(server, token + "data").headers
    assert headers["Access-Control-Allow-Origin"] is None
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert "Python" not in headers["Server"]


def test_it_listens_on_the_loopback_address_only(server: LiveServer) -> None:
    assert server.address.startswith("http://127.0.0.1:")
    if sys.platform == "linux":
        port = f":{server.port:04X}"
        listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
        assert [place for place in listening if place.endswith(port)] == ["0100007F" + port] * len(
            [place for place in listening if place.endswith(port)]
        )


def test_a_port_that_is_taken_is_said(server: LiveServer, tmp_path: Path) -> None:
    with pytest.raises(HotloopError, match="cannot be used"):
        LiveServer(tmp_path, server.port)
    with pytest.raises(HotloopError, match="no such capture"):
        LiveServer(tmp_path / "nothing")


def test_the_page_follows_the_run(server: LiveServer, growing: ShardWriter, browser: Any) -> None:
    page = browser.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    page.goto(server.address)
    steps = "document.querySelector('.figures').textContent.includes('%s')"
    assert page.evaluate(steps % "300")
    assert HOSTILE[0] in page.inner_text(".command")
    page.evaluate("location.hash = '#phase=env.step'")
    for number in range(3, 8):
        growing.window(window(number, 100))
    until(page, steps % "800")
    assert page.inner_text(".crumbs").endswith("env.step")  # still where the reader was
    page.click("text=Pause")
    growing.window(window(8, 100))
    page.wait_for_timeout(2500)
    assert page.evaluate(steps % "800")
    page.click("text=Go on")
    growing.end({"reason": "exit", "code": 0})
    until(page, "document.querySelector('.live').textContent.includes('ended')")
    assert page.evaluate(steps % "900")
    assert page.evaluate("window.pwned") is None
    assert said == []
    page.close()
