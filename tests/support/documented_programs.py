"""Programs of docs/integrations.md, run as they are."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

DOCUMENT = Path(__file__).parents[2] / "docs" / "integrations.md"


def documented(name: str) -> str:
    """The block of docs/integrations.md with that mark."""
    text = DOCUMENT.read_text()
    match = re.search(rf"<!-- runs: {name} -->\n```python\n(.*?)```", text, re.DOTALL)
    assert match, f"docs/integrations.md has no block {name}"
    return match[1]


def run(code: str, folder: Path, *before: str) -> subprocess.CompletedProcess[str]:
    (folder / "program.py").write_text(code)
    done = subprocess.run(
        [sys.executable, *before, "program.py"],
        cwd=folder,
        env={
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "KERAS_BACKEND": "tensorflow",
        },
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return done


def report(folder: Path) -> dict[str, Any]:
    """Of the one capture that a program has left."""
    captures = list(folder.glob("runs/hotloop/*"))
    assert len(captures) == 1, captures
    done = subprocess.run(
        [sys.executable, "-m", "hotloop", "report", str(captures[0]), "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def names(document: dict[str, Any]) -> set[str]:
    return {phase["name"] for phase in document["phases"]}
