"""`hotloop live` and `run --live` on real terminals, on pipes, and after any kind of end."""

from __future__ import annotations

import os
import re
import signal
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.programs

pty = pytest.importorskip("pty", reason="no pseudo-terminals here")
pyte = pytest.importorskip("pyte", reason="pyte is not installed")

PROGRAM = """
import sys, time
from hotloop import count, profile
end = time.monotonic() + float(sys.argv[1])
number = 0
while time.monotonic() < end:
    with profile("env.step"):
        time.sleep(0.004)
        count("env_steps", 4)
    with profile("learn.backward"):
        time.sleep(0.001)
    number += 1
    if number % 20 == 0:
        print("progress", number, flush=True)
sys.exit(7)
"""


class Session:
    """A command on a pseudo-terminal, and what a person would see."""

    def __init__(self, folder: Path, *command: str, rows: int = 30, **env: str) -> None:
        import fcntl
        import termios

        self.master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, 100, 0, 0))
        self.screen = pyte.HistoryScreen(100, rows, history=1000)
        self._stream = pyte.ByteStream(self.screen)
        self.raw = b""
        unset = ("COLUMNS", "LINES", "NO_COLOR")
        clean = {key: value for key, value in os.environ.items() if key not in unset}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "hotloop", *command],
            cwd=folder,
            env={**clean, "TERM": "xterm-256color", **env},
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def shown(self) -> str:
        import select

        while select.select([self.master], [], [], 0.02)[0]:
            try:
                data = os.read(self.master, 65536)
            except OSError:
                break
            self.raw += data
            self._stream.feed(data)
        return "\n".join(line.rstrip() for line in self.screen.display)

    def until(self, pattern: str, seconds: float = 40) -> str:
        """Wait until the screen shows that."""
        due = time.monotonic() + seconds
        while time.monotonic() < due:
            if re.search(pattern, shown := self.shown()):
                return shown
            time.sleep(0.05)
        pytest.fail(f"never shown: {pattern}\n{self.shown()}\n{self.raw[-500:]!r}")

    def wait(self, seconds: float = 40) -> int:
        due = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < due:
            self.shown()
            time.sleep(0.05)
        self.shown()
        return self.process.wait(timeout=1)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.master)


Open = Callable[..., Session]


@pytest.fixture
def open_terminal(tmp_path: Path) -> Iterator[Open]:
    (tmp_path / "train.py").write_text(PROGRAM)
    opened: list[Session] = []

    def start(*command: str, **options: Any) -> Session:
        opened.append(Session(tmp_path, *command, **options))
        return opened[-1]

    yield start
    for each in opened:
        each.close()


@pytest.fixture
def started(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A run in progress, as another terminal would have it."""
    (tmp_path / "train.py").write_text(PROGRAM)
    process = subprocess.Popen(
        [sys.executable, "-m", "hotloop", "run", "-q", "-o", "cap", "train.py", "30"],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    due = time.monotonic() + 30
    while not (tmp_path / "cap" / "main.jsonl").exists() and time.monotonic() < due:
        time.sleep(0.05)
    yield process
    process.kill()
    process.wait()


def test_run_live_shows_both_and_still_writes_the_capture(
    open_terminal: Open, tmp_path: Path
) -> None:
    terminal = open_terminal("run", "--live", "-o", "cap", "train.py", "5")
    shown = terminal.until(r"env\.step +█+")
    foot = shown.split("\n")[-10:]
    assert "running" in foot[0]
    assert re.search(r"[\d,.]+ steps/s .* steps", foot[1])
    terminal.until(r"progress \d+")
    assert terminal.wait() == 7
    shown = terminal.shown()
    assert "Where the" in terminal.raw.decode()
    assert terminal.screen.margins is None or terminal.screen.margins.bottom == 29
    assert "running" not in shown.split("\n")[-1]
    # Every line of the program's own was written, whole.
    printed = [int(n) for n in re.findall(r"progress (\d+)\r\n", terminal.raw.decode())]
    assert printed == list(range(20, 20 * len(printed) + 1, 20))
    assert (tmp_path / "cap" / "main.jsonl").exists()


def test_a_program_that_is_killed_leaves_a_usable_terminal(open_terminal: Open) -> None:
    terminal = open_terminal("run", "--live", "-o", "cap", "train.py", "60")
    terminal.until(r"env\.step +█+")
    terminal.process.kill()
    terminal.process.wait()
    due = time.monotonic() + 120
    while b"\x1b[r" not in terminal.raw and time.monotonic() < due:
        terminal.shown()
        time.sleep(0.05)
    assert b"\x1b[r" in terminal.raw


def test_ctrl_c_is_for_the_program(open_terminal: Open) -> None:
    terminal = open_terminal("run", "--live", "-o", "cap", "train.py", "60")
    terminal.until(r"env\.step +█+")
    os.killpg(terminal.process.pid, signal.SIGINT)
    assert terminal.wait() == -signal.SIGINT
    text = terminal.raw.decode()
    assert "KeyboardInterrupt" in text
    assert "Where the" in text


def test_live_in_another_terminal(
    open_terminal: Open, started: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    terminal = open_terminal("live", "cap")
    shown = terminal.until(r"env\.step +█+")
    assert "hotloop  train.py 30" in shown
    before = terminal.until(r"running \d")
    terminal.until(r"steps/s, at most")
    assert before
    os.write(terminal.master, b"q")
    assert terminal.wait(10) == 0
    assert b"\x1b[?1049l" in terminal.raw
    assert started.poll() is None  # the run continues


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_live_ends_with_the_run(
    open_terminal: Open, started: subprocess.Popen[bytes], number: signal.Signals
) -> None:
    terminal = open_terminal("live", "cap")
    terminal.until("env.step")
    started.send_signal(number)  # not reaped: a zombie has ended as well
    assert terminal.wait() == 0
    # SIGTERM leaves a moment for an end, which a busy machine may not grant.
    endings = {signal.SIGTERM: rb"ended|killed", signal.SIGKILL: rb"killed"}
    assert re.search(endings[number], terminal.raw)


def test_a_dumb_terminal_gets_plain_lines(
    open_terminal: Open, started: subprocess.Popen[bytes]
) -> None:
    terminal = open_terminal("live", "cap", TERM="dumb")
    terminal.until(r"hotloop: .*steps/s")
    assert b"\x1b" not in terminal.raw


def test_a_pipe_gets_plain_lines(hotloop: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    done = hotloop("run", "-q", "--live", "-o", "cap", "train.py", "3")
    assert done.returncode == 7
    assert re.search(r"^hotloop: .*s", done.stderr, re.MULTILINE)
    assert "\x1b" not in done.stderr
    assert "progress 20\n" in done.stdout
    assert "hotloop" not in done.stdout
    done = hotloop("live", "cap")  # of a run that has ended
    assert (done.returncode, done.stdout.count("\n")) == (0, 1)
    assert "ended" in done.stdout


def test_once(hotloop: Any, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(PROGRAM)
    hotloop("run", "-q", "-o", "cap", "train.py", "2")
    done = hotloop("live", "cap", "--once", env={"COLUMNS": "80"})
    assert done.returncode == 0
    assert max(map(len, done.stdout.splitlines())) <= 80
    assert "env.step" in done.stdout
    assert "\x1b" not in done.stdout


def test_what_is_no_capture(hotloop: Any, tmp_path: Path) -> None:
    done = hotloop("live", "nothing")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "hotloop: nothing: no such capture; `hotloop list` shows them\n"
    for option in ("--once", "--web"):
        assert hotloop("live", "nothing", option).returncode == 2
    assert hotloop("live").returncode == 2


def test_the_page_has_a_token_and_ends_with_ctrl_c(
    started: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    import urllib.request

    process = subprocess.Popen(
        [sys.executable, "-m", "hotloop", "live", "cap", "--web"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().strip()
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/[\w-]{20,}/", address)
    page = urllib.request.urlopen(address, timeout=20).read().decode()
    assert "env.step" in page
    process.send_signal(signal.SIGINT)
    assert process.wait(20) == 0
    _, said = process.communicate()
    assert "Traceback" not in said
