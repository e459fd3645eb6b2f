"""The live page's server: one token, one host, one origin."""

from __future__ import annotations

import http.client
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from recorded_run import HOSTILE, until

from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter
from hotloop.errors import HotloopError
from hotloop.report.html.web import LiveServer

S = 1_000_000_000


# -- the server --
@pytest.fixture
def growing(tmp_path: Path) -> Iterator[ShardWriter]:
    """A run that continues as long as the test writes windows."""
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
    page.click("text=Resume")
    growing.end({"reason": "exit", "code": 0})
    until(page, "document.querySelector('.live').textContent.includes('ended')")
    assert page.evaluate(steps % "900")
    assert page.evaluate("window.pwned") is None
    assert said == []
    page.close()
