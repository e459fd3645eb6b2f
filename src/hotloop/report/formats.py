"""The formats of a report, by name and by a file's ending.

A format is one line of the table; its renderer is imported when it is used, so `--help` and a
report on a terminal load nothing else.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from hotloop.errors import HotloopError


@dataclass(frozen=True)
class Format:
    """A format of a report: the endings of its files, and its renderer."""

    endings: tuple[str, ...]
    renderer: str
    #: Text can go to a terminal; the others need a file or a pipe.
    text: bool = True
    #: Shown in the list of `export`, rather than in that of `report`.
    export: bool = False


_EXPORT = "hotloop.report.export."

FORMATS: dict[str, Format] = {
    "text": Format((".txt",), ""),
    "json": Format((".json",), "hotloop.report.output:_json"),
    "markdown": Format((".md",), "hotloop.report.markdown:render"),
    "html": Format((".html", ".htm"), "hotloop.report.html.page:render"),
    "detailed": Format(("detailed.json",), "hotloop.report.detailed:render"),
    "png": Format((".png",), "hotloop.report.pictures:render_png", text=False),
    "svg": Format((".svg",), "hotloop.report.pictures:render_svg"),
    "perfetto": Format((".perfetto.json", ".trace.json"), _EXPORT + "perfetto:render", export=True),
    "speedscope": Format((".speedscope.json",), _EXPORT + "speedscope:render", export=True),
    "collapsed": Format((".collapsed", ".folded"), _EXPORT + "collapsed:render", export=True),
    "pstats": Format((".pstats", ".prof"), _EXPORT + "pstats:render", text=False, export=True),
    "csv": Format((".csv",), _EXPORT + "windows:render_csv", export=True),
    "parquet": Format((".parquet",), _EXPORT + "windows:render_parquet", text=False, export=True),
}


def known_endings() -> str:
    """Every ending, for an error message."""
    return ", ".join(ending for each in FORMATS.values() for ending in each.endings)


def format_of(path: Path) -> str:
    """The format of a file's ending; the longest ending wins."""
    matches = [
        (len(ending), name)
        for name, each in FORMATS.items()
        for ending in each.endings
        if path.name.lower().endswith(ending)
    ]
    if not matches:
        raise HotloopError(f"{path}: unknown file ending; use one of {known_endings()}")
    return max(matches)[1]


def format_named(text: str) -> str:
    """A format by its name or by the ending of its files, `md`; as given if there is none."""
    return next((name for name, each in FORMATS.items() if f".{text}" in each.endings), text)
