"""What must hold on a real card; `benchmarks/gpu` measures the rest of it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from real_runs import Hotloop

torch = pytest.importorskip("torch", reason="torch is not installed")
if not torch.cuda.is_available():
    pytest.skip("no CUDA device here", allow_module_level=True)

PROGRAMS = Path(__file__).parents[2] / "benchmarks" / "gpu" / "programs"


def report(hotloop: Hotloop, tmp_path: Path, program: str, *arguments: str) -> tuple[Any, str]:
    done = hotloop("run", "-q", "-o", "capture", str(PROGRAMS / program), *arguments, timeout=300)
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    made = subprocess.run(
        [sys.executable, "-m", "hotloop", "report", str(tmp_path / "capture"), "--format", "json"],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(made.stdout), done.stdout


def test_memory_of_known_size(hotloop: Hotloop, tmp_path: Path) -> None:
    found, output = report(hotloop, tmp_path, "known_memory.py")
    peaks = {p["name"]: round((p["gpu_peak_mb"] or 0) * 1e6) for p in found["phases"]}
    for name, expected in json.loads(output.splitlines()[-1]).items():
        assert peaks[name] == expected


def test_every_transfer_is_counted(hotloop: Hotloop, tmp_path: Path) -> None:
    found, _ = report(hotloop, tmp_path, "push_loop.py", "--steps", "10")
    rows = [row for row in found["transfers"] if row["function"] == "push_each"]
    assert {(row["transfers"], row["syncs"]) for row in rows} == {(2560, 2560)}
    assert len(rows) == 5


@pytest.mark.real_time
def test_kernels_by_phase(hotloop: Hotloop, tmp_path: Path) -> None:
    found, _ = report(hotloop, tmp_path, "ppo_mlp.py", "--iterations", "100")
    device = found["device"]
    assert device["stretches"] >= 1
    assert device["spent_s"] <= 0.015 * found["run"]["loop_s"]
    assert any(p["kernels"] > 0 for p in device["phases"])
