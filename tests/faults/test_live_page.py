"""The live page against others than its user: other hosts, other sites, other files.

`tests/report/console/test_live_view.py` has its token, its loopback address and its headers; here are the
attacks: names that point here (DNS rebinding), requests of other pages, paths out of the capture,
and requests that are none.
"""

from __future__ import annotations

import contextlib
import os
import random
import socket
import struct
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import pytest

from hotloop.capture.window import PhaseDelta, Window
from hotloop.capture.writer import ShardWriter
from hotloop.report.html.web import LiveServer

SECRET = "the contents of another file"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LiveServer]:
    """A capture that is served, with a file beside it and a link out of it."""
    folder = tmp_path / "cap"
    folder.mkdir()
    (tmp_path / "other.txt").write_text(SECRET)
    with contextlib.suppress(OSError):
        os.symlink(tmp_path / "other.txt", folder / "link.txt")
        os.symlink(tmp_path / "other.txt", folder / "linked.jsonl")
    writer = ShardWriter(folder, "main", {"role": "main", "command": ["train.py"]})
    writer.window(
        Window(0, 0, 0, 10**9, {"env.step": PhaseDelta(1, 10**8, 10**8, 1, 9, 0, 1, 10**8)})
    )
    writer.close()
    live = LiveServer(folder)
    thread = threading.Thread(target=live.serve_forever, daemon=True)
    thread.start()
    yield live
    live.close()
    thread.join(5)


def send(server: LiveServer, request: bytes) -> bytes:
    """What comes back for these very bytes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(OSError):
            while part := connection.recv(65536):
                answer += part
    return answer


def ask(server: LiveServer, path: str, *headers: str, host: str | None = None) -> bytes:
    host = host if host is not None else f"127.0.0.1:{server.port}"
    lines = [f"GET {path} HTTP/1.1", f"Host: {host}", *headers, "Connection: close", "", ""]
    return send(server, "\r\n".join(lines).encode())


def status(answer: bytes) -> int:
    return int(answer.split()[1]) if answer.startswith(b"HTTP/") else 0


def test_no_other_name_reaches_it(server: LiveServer, say) -> None:
    """DNS rebinding: a page elsewhere has its own name point at this machine."""
    path = urlsplit(server.address).path
    port = server.port
    assert status(ask(server, path)) == 200
    names = ["evil.example", f"evil.example:{port}", f"127.0.0.1.evil.example:{port}", "127.0.0.1", "", "0.0.0.0",
             f"0.0.0.0:{port}", f"[::1]:{port}", f"localhost.evil.example:{port}", f"127.0.0.1:{port}@evil.example",
             f"LOCALHOST.:{port}", f"127.1:{port}", f"2130706433:{port}"]  # fmt: skip
    for name in names:
        assert status(ask(server, path, host=name)) == 403, name
        assert b"env.step" not in ask(server, path + "data", host=name)
    answer = send(server, f"GET {path} HTTP/1.0\r\n\r\n".encode())
    assert status(answer) == 403
    twice = ask(server, path, f"Host: 127.0.0.1:{port}", host="evil.example")
    assert status(twice) == 403
    say(f"live page: {len(names) + 2} other host names, all refused")


def test_no_other_site_reads_it(server: LiveServer, say) -> None:
    """A browser says from where a request comes: no page of another site gets an answer."""
    path = urlsplit(server.address).path + "data"
    own = f"http://127.0.0.1:{server.port}"
    assert status(ask(server, path, f"Origin: {own}", "Sec-Fetch-Site: same-origin")) == 200
    assert status(ask(server, path, "Sec-Fetch-Site: none")) == 200  # typed by a person
    foreign = ["Origin: http://evil.example", "Origin: null", "Origin: https://127.0.0.1", "Sec-Fetch-Site: cross-site",
               "Sec-Fetch-Site: same-site", f"Origin: http://127.0.0.1:{server.port + 1}"]  # fmt: skip
    for header in foreign:
        answer = ask(server, path, header)
        assert status(answer) == 403, header
        assert b"env.step" not in answer
        assert b"Access-Control-Allow-Origin" not in answer
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "HEAD", "TRACE", "CONNECT"):
        request = f"{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n"
        assert status(send(server, request.encode())) in (405, 501)
    say(f"live page: {len(foreign)} requests of other sites refused, 7 other methods as well")


def test_no_file_is_served(server: LiveServer, tmp_path: Path, full: bool, say) -> None:
    token = urlsplit(server.address).path
    names = ["../other.txt", "..%2fother.txt", "link.txt", "linked.jsonl", "main.jsonl", "data/../../other.txt", "//etc/passwd",
             "....//other.txt", "%2e%2e/other.txt", "data%00.txt", "data/", "data?x=/etc/passwd", "static/page.js",
             str(tmp_path / "other.txt"), quote(str(tmp_path / "other.txt"), safe=""), "..\\other.txt"]  # fmt: skip
    seen = set()
    for name in names:
        for path in (token + name, "/" + name, token.rstrip("/") + name):
            answer = ask(server, path)
            seen.add(status(answer))
            assert SECRET.encode() not in answer
            assert b"root:" not in answer
    assert seen <= {200, 400, 404}
    say(f"live page: {len(names) * 3} paths to other files, none served")


def test_requests_that_are_none(
    server: LiveServer, full: bool, say, capfd: pytest.CaptureFixture[str]
) -> None:
    """It answers the next one all the same, and says nothing of itself."""
    chance = random.Random(9)
    path = urlsplit(server.address).path
    count = 2000 if full else 100
    for _ in range(count):
        request = bytearray(
            f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
        )
        for _ in range(chance.choice([1, 3, 20])):
            request[chance.randrange(len(request))] = chance.randrange(256)
        if chance.random() < 0.1:
            request = bytearray(chance.randbytes(200))
        answer = send(server, bytes(request))
        assert b"Traceback" not in answer
        if chance.random() < 0.1:  # gone before the answer comes
            connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.sendall(
                f"GET {path}data HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n\r\n".encode()
            )
            connection.close()
    assert status(ask(server, path)) == 200
    assert capfd.readouterr().err == ""
    say(f"live page: {count} damaged requests, and it still answers")


class Elsewhere(BaseHTTPRequestHandler):
    """A page of another site."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>elsewhere</title>")

    def log_message(self, format: str, *args: Any) -> None:
        pass


#: Everything that a page can do with an address that it should not know.
ATTACK = """async (address) => {
  const got = [];
  for (const mode of ["cors", "no-cors"]) {
    try {
      const answer = await fetch(address + "data", {mode});
      got.push(mode + ":" + (await answer.text()).length);
    } catch (error) { got.push(mode + ":refused"); }
  }
  const loads = (tag, name) => new Promise(done => {
    const element = document.createElement(tag);
    element.onload = () => done(tag + ":loaded");
    element.onerror = () => done(tag + ":refused");
    setTimeout(() => done(tag + ":refused"), 3000);
    element[name] = address + "data";
    document.body.append(element);
  });
  got.push(await loads("script", "src"), await loads("img", "src"));
  const frame = document.createElement("iframe");
  frame.src = address;
  const loaded = new Promise(done => { frame.onload = done; setTimeout(done, 3000); });
  document.body.append(frame);
  await loaded;
  let inside = "nothing";
  try { inside = frame.contentDocument.body.innerText; } catch (error) { inside = "refused"; }
  got.push("frame:" + (inside ? inside.slice(0, 20) : "nothing"));
  return got;
}"""


def test_a_page_elsewhere_in_a_real_browser(server: LiveServer, browser: Any, say) -> None:
    """Even one that knows the address, token and all."""
    other = HTTPServer(("127.0.0.1", 0), Elsewhere)
    threading.Thread(target=other.serve_forever, daemon=True).start()
    page = browser.new_page()
    try:
        page.goto(f"http://localhost:{other.server_address[1]}/")
        got = page.evaluate(ATTACK, server.address)
    finally:
        page.close()
        other.shutdown()
        other.server_close()
    assert all(each.endswith((":refused", ":0", ":nothing")) for each in got), got
    say(f"live page: a page of another site in Chromium got nothing ({', '.join(got)})")
