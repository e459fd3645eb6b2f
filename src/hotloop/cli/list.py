"""List recorded runs and experiments, the newest first.

hotloop list                     below runs/hotloop
hotloop list FOLDER              below another folder
hotloop list --format json
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import asdict
from pathlib import Path

from hotloop import units
from hotloop.cli.numbers import above_zero
from hotloop.cli.selection import RecordedRun, recordings
from hotloop.errors import HotloopError
from hotloop.report.console.terminal import Style, clean, fit, style_for, write
from hotloop.run.folders import BASE, as_typed

#: Lines on a terminal; `--last` lists another number.
LINES = 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", help=f"folder to search (default: {BASE})")
    parser.add_argument(
        "--last",
        type=above_zero,
        metavar="N",
        help=f"list at most N (default: {LINES} as text, all as JSON)",
    )
    parser.add_argument(
        "--format", choices=("text", "json"), default="text", help="how to print the list"
    )


def main(options: argparse.Namespace) -> int:
    base = Path(options.folder) if options.folder else BASE
    found = recordings(base)
    if options.format == "json":
        write(sys.stdout, json.dumps([_plain(each) for each in found[: options.last]], indent=1))
        return 0
    if not found:
        raise HotloopError(f"no capture below {base}; make one with `hotloop run train.py`")
    style = style_for(sys.stdout)
    write(sys.stdout, _table(found, options.last or LINES, base, style, time.time()))
    return 0


def _plain(each: RecordedRun) -> dict[str, object]:
    return {**asdict(each), "folder": str(each.folder)}


def _table(found: list[RecordedRun], most: int, base: Path, style: Style, now: float) -> str:
    shown = found[:most]
    names = [clean(each.folder.name) for each in shown]
    name = min(max(map(len, names)), style.width // 2)
    rows = [f"{'name':<{name}}  {'kind':<11}  {'when':<10}  {'size':>7}  command"]
    for each, label in zip(shown, names, strict=True):
        cells = f"{fit(label, name)}  {fit(each.kind, 11)}  {ago(now - each.changed):<10}  "
        cells += f"{units.size(each.size):>7}  "
        state = "" if each.state == "ended" else clean(each.state)
        rows += _described(cells, clean(each.command), state, style.width)
    total = units.size(sum(each.size for each in found))
    more = f", {len(found) - most} more with --last {len(found)}" if len(found) > most else ""
    end = f"{units.plural(len(found), 'recording')} in {as_typed(base)}, {total}{more}."
    return "\n".join([style.paint(rows[0], "dim"), *rows[1:], "", style.paint(end, "dim")])


def _described(cells: str, command: str, state: str, width: int) -> list[str]:
    """A row with its command and state. If both do not fit, the state loses its details first."""
    for known in dict.fromkeys((state, state.partition(" ")[0])):
        line = cells + command + (f"  [{known}]" if known else "")
        if len(line) <= width:
            return [line]
    below = f"  {command}"
    return [
        (cells + (f"[{known}]" if known else "")).rstrip(),
        below if len(below) <= width else below[: width - 1] + "…",
    ]


def ago(seconds: float) -> str:
    """How long ago, in the largest unit that is at least 1."""
    for length, unit in ((86400, " d"), (3600, " h"), (60, " min")):
        if seconds >= length:
            return f"{int(seconds // length)}{unit} ago"
    return "just now"
