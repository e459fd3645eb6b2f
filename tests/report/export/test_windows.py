"""Windows as CSV and Parquet."""

from __future__ import annotations

import csv
import io
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import check_refused

from hotloop.report.document import Report
from hotloop.report.export import windows


# -- tables --
def test_csv(report: Report) -> None:
    rows = list(csv.DictReader(io.StringIO(windows.render_csv(report))))
    steps = sum(float(row["value"]) for row in rows if row["name"] == "env_steps")
    assert steps == report.analysis.run.env_steps
    assert {row["process"] for row in rows} == {"main", "env-0", "env-1"}
    assert {row["part"] for row in rows} >= {"startup", "loop"}
    # A spreadsheet must not take a name for a formula.
    assert not any(cell[:1] in "=+@" for row in rows for cell in row.values() if cell)


def test_parquet_is_the_same_table(report: Report) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    table = parquet.read_table(io.BytesIO(windows.render_parquet(report)))
    rows = list(csv.DictReader(io.StringIO(windows.render_csv(report))))
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
    check_refused(done, "hotloop[parquet]")
    assert done.stderr.count("\n") == 1
