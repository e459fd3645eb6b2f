"""Damaged captures: a report or a clear error, whatever was done to them. `damage.py` does it."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from hotloop.capture.slices import read_slices

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="limits memory in Linux's way")
pytest.importorskip("matplotlib")
pytest.importorskip("pyarrow")
pytest.importorskip("scipy")

#: The short form's; any other may be given to `damage.py` itself.
SEED = 9


def test_any_damage_ends_in_a_report_or_a_clear_error(tmp_path: Path, full: bool, say) -> None:
    rounds = 100_000 if full else 300
    done = subprocess.run(
        [sys.executable, str(Path(__file__).with_name("damage.py")), str(tmp_path), str(SEED), "0", str(rounds)],
        capture_output=True,
        text=True,
        # As in the field: what damage makes of a key is ignored, not an error.
        env={**os.environ, "MPLBACKEND": "agg", "HOTLOOP_STRICT_SCHEMA": ""},
    )  # fmt: skip
    assert done.stdout, done.stderr[-3000:]
    told = json.loads(done.stdout)
    failures = "\n".join(
        f"python tests/faults/damage.py FOLDER {SEED} {number} 1   {error} {place}"
        for number, error, place in told["failures"]
    )
    assert not failures, f"to have one of these again:\n{failures}"
    seen = told["seen"]
    assert seen["reports"] + seen["clear errors"] == rounds
    assert seen["reports"] > rounds / 2
    assert seen["clear errors"] > 0
    assert told["grown"] < 1_000_000_000
    renderers = [
        "text",
        "json",
        "markdown",
        "detailed",
        "html",
        "perfetto",
        "speedscope",
        "collapsed",
        "pstats",
        "csv",
        "parquet",
        "svg",
        "png",
        "live",
        "compare",
    ]
    assert all(seen[name] for name in renderers)
    say(
        f"{rounds:,} damaged captures (seed {SEED}): {seen['reports']:,} reports, "
        f"{seen['clear errors']:,} clear errors, no traceback, none over 10 s, memory grew by "
        f"{told['grown'] / 1e6:.0f} MB; rendered as "
        + ", ".join(f"{name} {seen[name]:,}" for name in renderers)
    )


def test_a_block_that_unpacks_without_end_is_damage(tmp_path: Path, say) -> None:
    bomb = base64.b64encode(zlib.compress(bytes(200_000_000), 9)).decode()
    lines = [{"hotloop": "trace/1"}, {"t": 1, "p": {"0": "a"}, "lost": 0, "d": bomb}]
    (tmp_path / "main.trace").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (process,) = read_slices(tmp_path)
    assert (process.damaged, process.slices) == (1, [])
    say(f"a block of {len(bomb):,} letters that unpacks to 200 MB is counted as damage")
