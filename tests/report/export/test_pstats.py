"""pstats files, opened by pstats."""

from __future__ import annotations

import io
import pstats
from pathlib import Path
from typing import Any

import pytest
from recorded_run import record

from hotloop.analyze.analysis import analyze
from hotloop.analyze.over_time.history import RunHistory
from hotloop.analyze.processes.training import read_capture
from hotloop.report.document import Report, make_report
from hotloop.report.export import pstats as pstats_export


# -- pstats --
def test_pstats_from_samples(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "run.pstats"
    path.write_bytes(pstats_export.render(report))
    said = io.StringIO()
    stats = pstats.Stats(str(path), stream=said)
    stats.sort_stats("cumulative").print_stats("collect")
    stats.print_callers("work")
    table: dict[Any, Any] = stats.stats  # type: ignore[attr-defined]
    collect = next(p for p in report.analysis.phases if p.path == "collect")
    row = table["hotloop", 0, "[collect]"]
    assert row[1] == collect.calls
    assert row[3] == pytest.approx(collect.total_s, rel=0.01)
    assert stats.total_tt == pytest.approx(report.analysis.run.loop_s, rel=0.02)  # type: ignore[attr-defined]
    assert all(own <= total + 1e-9 for _, _, own, total, _ in table.values())
    assert "simulate" in said.getvalue()


def test_pstats_of_an_exact_run_is_the_exact_file(tmp_path: Path) -> None:
    folder = record(tmp_path, (), "--functions", "exact", iterations=5)
    capture = read_capture(folder)
    content = pstats_export.render(make_report(analyze(capture), [], RunHistory(capture)))
    assert content == (folder / "main.prof").read_bytes()
