"""`hotloop doctor`, the real command."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable

import pytest

from hotloop.analyze.doctor import PROBLEM


@pytest.mark.programs
def test_the_real_command(
    hotloop: Callable[..., subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done = hotloop("doctor", "--format", "json", env={"OMP_NUM_THREADS": "4096"}, timeout=600)
    assert done.returncode == 1, done.stderr
    document = json.loads(done.stdout)
    assert document["schema"] == "hotloop.doctor/1"
    assert document["ok"] is False
    texts = [check["text"] for check in document["checks"] if check["state"] == PROBLEM]
    assert any("OMP_NUM_THREADS is 4096" in text for text in texts)
    assert document["machine"]["cores"] >= 1
