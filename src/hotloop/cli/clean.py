"""Delete recorded runs and experiments below runs/hotloop.

  hotloop clean --older-than 7d      everything older than a week
  hotloop clean --keep 20            all but the newest 20
  hotloop clean --older-than 7d -n   only list what would be deleted

Asks before deleting, unless -y is given. Never deletes runs and experiments in progress, folders
that hotloop did not create, or folders with any file that hotloop did not write.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import time
from pathlib import Path

from hotloop import units
from hotloop.cli.numbers import age, not_negative
from hotloop.cli.ownership import foreign_entry, is_capture, is_experiment
from hotloop.cli.selection import RUNNING, UNCERTAIN, RecordedRun, recordings
from hotloop.errors import HotloopError
from hotloop.run.folders import BASE, as_typed
from hotloop.run.messages import notify

#: If processes cannot be checked, a folder that changed this recently may still be in use.
RECENT_S = 600.0


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("folder", nargs="?", help=f"folder to search (default: {BASE})")
    parser.add_argument(
        "--older-than", type=age, metavar="AGE", help="delete everything older than this: 7d, 12h"
    )
    parser.add_argument(
        "--keep", type=not_negative, default=0, metavar="N", help="always keep the newest N"
    )
    parser.add_argument(
        "-n", "--dry-run", action="store_true", help="only list what would be deleted"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask")


def main(options: argparse.Namespace) -> int:
    if options.older_than is None and not options.keep:
        raise HotloopError("nothing selected; pass --older-than 7d, --keep N, or both")
    base = Path(options.folder) if options.folder else BASE
    chosen = deletable(recordings(base), options.older_than or 0.0, options.keep, time.time())
    chosen = [each for each in chosen if _is_all_ours(each.folder)]
    if not chosen:
        notify(f"nothing to delete below {as_typed(base)}")
        return 0
    for each in chosen:
        print(f"{as_typed(each.folder)}  {units.size(each.size)}")
    total = f"{units.plural(len(chosen), 'folder')}, {units.size(sum(e.size for e in chosen))}"
    sys.stdout.flush()
    if options.dry_run:
        notify(f"{total} would be deleted")
        return 0
    if not options.yes and not _agreed(total):
        return 1
    return _delete(chosen, total)


def deletable(
    found: list[RecordedRun], older_than_s: float, keep: int, now: float
) -> list[RecordedRun]:
    """The recordings to delete: old enough, not among the newest to keep, not in progress."""
    return [
        each
        for each in found[keep:]
        if now - each.changed >= older_than_s
        and each.state != RUNNING
        and not (each.state == UNCERTAIN and now - each.changed < RECENT_S)
    ]


def _is_all_ours(folder: Path) -> bool:
    """Whether hotloop made a folder and wrote everything in it; prints a line if not."""
    if not is_capture(folder) and not is_experiment(folder):
        return False
    try:
        kept = foreign_entry(folder)
    except OSError:
        return False
    if kept is not None:
        notify(f"{as_typed(folder)} is kept: it holds {kept.relative_to(folder)}")
    return kept is None


def _agreed(total: str) -> bool:
    if not sys.stdin.isatty():
        raise HotloopError(
            f"{total}: cannot ask without a terminal; add -y to delete without asking"
        )
    print(f"Delete these {total}? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _delete(chosen: list[RecordedRun], total: str) -> int:
    failed = []
    for each in chosen:
        try:
            shutil.rmtree(each.folder)
        except OSError as error:
            failed.append(f"{as_typed(each.folder)}: {error.strerror}")
    if failed:
        raise HotloopError("could not be deleted: " + "; ".join(failed))
    notify(f"deleted {total}")
    return 0
