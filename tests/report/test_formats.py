"""A file's ending selects the format; each format's renderer exists."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from hotloop.errors import HotloopError
from hotloop.report.formats import FORMATS, format_named, format_of, known_endings


@pytest.mark.parametrize(
    ("name", "format"),
    [
        ("report.html", "html"),
        ("A.SPEEDSCOPE.JSON", "speedscope"),
        ("a.b.HTM", "html"),
        ("report.md", "markdown"),
        ("analysis.txt", "text"),
        ("report.json", "json"),
        ("detailed.json", "detailed"),
        ("my-detailed.json", "detailed"),
        ("run.speedscope.json", "speedscope"),
        ("run.perfetto.json", "perfetto"),
        ("run.trace.json", "perfetto"),
        ("run.collapsed", "collapsed"),
        ("run.prof", "pstats"),
        ("a.b.parquet", "parquet"),
    ],
)
def test_the_longest_ending_wins(name: str, format: str) -> None:
    assert format_of(Path(name)) == format


def test_an_unknown_ending_lists_the_known_ones() -> None:
    with pytest.raises(HotloopError) as error:
        format_of(Path("report.docx"))
    assert str(error.value) == f"report.docx: unknown file ending; use one of {known_endings()}"


def test_endings_are_unique() -> None:
    endings = [ending for each in FORMATS.values() for ending in each.endings]
    assert len(endings) == len(set(endings))


@pytest.mark.parametrize("renderer", sorted({f.renderer for f in FORMATS.values() if f.renderer}))
def test_renderers_exist(renderer: str) -> None:
    module, name = renderer.split(":")
    assert callable(getattr(importlib.import_module(module), name))


def test_a_format_has_its_name_and_the_ending_of_its_files() -> None:
    assert [format_named(text) for text in ("md", "txt", "htm", "json", "folded")] == [
        *("markdown", "text", "html", "json", "collapsed"),
    ]
    assert [format_named(text) for text in (*FORMATS, "jsn")] == [*FORMATS, "jsn"]
