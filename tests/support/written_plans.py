"""Plans as files."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("tomllib", reason="Python 3.10 needs tomli")


WHOLE = """\
[baseline]
command = "train.py --envs 256"
steps = 20000
timeout = "10m"
pairs = 12

[goal]
minimum = "5x"
stretch = 10

[[hypothesis]]
name = "ratio"
claim = "too many gradient steps"
arguments = "--train-ratio 4"
without = ["--slow"]
expected = "10-15x"
confidence = "high"

[[hypothesis]]
name = "threads"
claim = "threads fight"
environment = { OMP_NUM_THREADS = 1 }
expected = 1.5

[[hypothesis]]
name = "no learning"
claim = "learning is the bottleneck"
skip = "learn"
expected = ">2x"
confidence = "low"

[[hypothesis]]
name = "environment"
claim = "the environment is hidden behind the update"
slow = { phase = "env.step", by = ["1ms", "2ms"] }
expected = "hidden"
"""


def write(folder: Path, text: str) -> Path:
    path = folder / "plan.toml"
    path.write_text(text)
    return path
