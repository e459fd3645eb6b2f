"""Runs a program in a control group with a CPU quota, as a container does."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: What Linux calls a period: the time over which a group's share is counted.
PERIOD_US = 100_000
ROOT = Path("/sys/fs/cgroup")


class NotHereError(Exception):
    """This machine does not let us limit a program."""


@contextmanager
def limited(cores: float) -> Iterator[list[str]]:
    """The words before a command that put it into a group with this limit."""
    folder = _parent() / f"hotloop-scoreboard-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        raise NotHereError(f"no control group can be made here ({error.strerror})") from None
    try:
        _limit(folder, int(cores * PERIOD_US))
        yield ["sh", "-c", f'echo $$ > {folder}/cgroup.procs && exec "$@"', "sh"]
    finally:
        folder.rmdir()


def _parent() -> Path:
    return ROOT / "cpu" if (ROOT / "cpu").is_dir() else ROOT


def _limit(folder: Path, quota_us: int) -> None:
    first, second = folder / "cpu.cfs_quota_us", folder / "cpu.max"
    try:
        if first.exists():
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD_US))
            first.write_text(str(quota_us))
        elif second.exists():
            second.write_text(f"{quota_us} {PERIOD_US}")
        else:
            raise NotHereError("control groups here do not limit CPU time")
    except OSError as error:
        raise NotHereError(f"a control group takes no limit here ({error.strerror})") from None
