"""The live view as a page: a server on the loopback address, protected by a token.

It serves two addresses, the page and its data, both below the token, and nothing else. Requests for
another host name (DNS rebinding) and requests from pages of other sites are refused; such a page
may only contain a link to click.
"""

from __future__ import annotations

import secrets
import threading
from email.message import Message
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.training import TrainingReader
from hotloop.diagnose import diagnose
from hotloop.errors import HotloopError
from hotloop.report.document import make_report
from hotloop.report.html.page import REPORT_SCRIPTS, embed, shell
from hotloop.report.html.page_data import page_data

HOST = "127.0.0.1"

#: Windows kept of the main process: the charts show no more.
MOST_WINDOWS = 512

_HEADERS = {
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    # The address holds the token: it is never logged.
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Content-Security-Policy": "frame-ancestors 'none'",
}


class LiveServer:
    """Serves one capture until it is closed."""

    def __init__(self, folder: Path, port: int = 0) -> None:
        self._reader = TrainingReader(folder, most_of_main=MOST_WINDOWS)
        self._lock = threading.Lock()
        self._reader.read()  # fails now, not at the first request, if there is no capture
        self._token = secrets.token_urlsafe(18)
        handler = type("Handler", (_Handler,), {"live": self})
        try:
            self._server = _Server((HOST, port), handler)
        except (OSError, OverflowError) as error:
            raise HotloopError(f"port {port} cannot be used ({error}); choose another") from None

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self.port}/{self._token}/"

    def serve_forever(self) -> None:
        self._server.serve_forever(poll_interval=0.1)

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def answer(self, headers: Message, path: str) -> tuple[int, str, str]:
        """Status, kind and text of the answer to a request."""
        hosts = headers.get_all("Host", [])
        if len(hosts) != 1 or hosts[0] not in (f"{HOST}:{self.port}", f"localhost:{self.port}"):
            return 403, "text/plain", "not for this host\n"
        if not _is_own(headers, hosts[0]):
            return 403, "text/plain", "not for another site\n"
        token, _, name = path.lstrip("/").partition("?")[0].partition("/")
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return 404, "text/plain", "nothing here\n"
        if name == "data":
            return 200, "application/json", embed(self._data())
        if name == "":
            data = self._data()
            scripts = (*REPORT_SCRIPTS, "live.js")
            return 200, "text/html", shell(f"{data['name']} · live", data, scripts, "", "'self'")
        return 404, "text/plain", "nothing here\n"

    def _data(self) -> dict[str, Any]:
        with self._lock:
            capture = self._reader.read()
            analysis = analyze(capture)
            return page_data(make_report(analysis, diagnose(analysis), RunHistory(capture)))


def _is_own(headers: Message, host: str) -> bool:
    """Whether a user or the page itself made a request; browsers mark those of other sites."""
    if headers.get("Origin", f"http://{host}") != f"http://{host}":
        return False
    if headers.get("Sec-Fetch-Site", "none") in ("none", "same-origin"):
        return True
    # A link that was clicked opens the page, which the page with the link cannot read.
    return headers.get("Sec-Fetch-Dest") == "document"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a browser that closes a connection is not an error."""


class _Handler(BaseHTTPRequestHandler):
    live: LiveServer
    server_version = "hotloop"
    sys_version = ""
    timeout = 30

    def do_GET(self) -> None:
        status, kind, text = self.live.answer(self.headers, self.path)
        data = text.encode(errors="replace")
        self.send_response(status)
        for name, value in _HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: a log line would hold the token."""
