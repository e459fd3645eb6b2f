"""The windows as a table, for pandas and spreadsheets: CSV and Parquet, the same rows."""

from __future__ import annotations

import csv
import io
from dataclasses import fields
from importlib import import_module
from typing import Any

from hotloop.analyze.over_time.window_table import Row
from hotloop.errors import HotloopError
from hotloop.report.console.terminal import clean
from hotloop.report.document import Report, history_of
from hotloop.report.view import DEFAULT_VIEW, View

COLUMNS = tuple(each.name for each in fields(Row))

#: A spreadsheet takes text that begins with one of these for a formula.
_FORMULA = ("=", "+", "-", "@")


def render_csv(report: Report, view: View = DEFAULT_VIEW) -> str:
    """Comma-separated values with a heading."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in history_of(report).rows():
        writer.writerow([_cell(getattr(row, name)) for name in COLUMNS])
    return buffer.getvalue()


def render_parquet(report: Report, view: View = DEFAULT_VIEW) -> bytes:
    """A Parquet file; needs pyarrow."""
    try:
        pyarrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise HotloopError(
            "a Parquet file needs pyarrow: pip install 'hotloop[parquet]'; or choose .csv"
        ) from None
    rows = list(history_of(report).rows())
    kinds = {"str": pyarrow.string(), "int": pyarrow.int64(), "float": pyarrow.float64()}
    schema = pyarrow.schema(
        [(each.name, kinds[str(each.type).partition(" ")[0]]) for each in fields(Row)]
    )
    columns = {
        each.name: [_as(str(each.type), getattr(row, each.name)) for row in rows]
        for each in fields(Row)
    }
    buffer = io.BytesIO()
    parquet.write_table(pyarrow.table(columns, schema=schema), buffer)
    return buffer.getvalue()


def _as(kind: str, value: Any) -> Any:
    """A whole number in a column of floats becomes a float, as Parquet needs one type."""
    return float(value) if kind.startswith("float") and value is not None else _plain(value)


def _plain(value: Any) -> Any:
    return clean(value) if isinstance(value, str) else value


def _cell(value: Any) -> Any:
    value = _plain(value)
    return "'" + value if isinstance(value, str) and value.startswith(_FORMULA) else value
