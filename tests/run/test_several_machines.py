"""One run on several machines: a shared folder, or Ray. Namespaces of Linux stand in for machines."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import Hotloop, check_refused

pytestmark = pytest.mark.programs

PROGRAMS = Path(__file__).parents[1] / "hooks" / "library_programs"


def _namespaces() -> bool:
    try:
        return subprocess.run(["unshare", "-mu", "true"], capture_output=True).returncode == 0
    except OSError:
        return False


needs_namespaces = pytest.mark.skipif(not _namespaces(), reason="needs unshare and its rights")

TRAIN = """
import os, pathlib, time
import hotloop
here = pathlib.Path.cwd()
(here / f"{os.environ['RANK']}.ready").touch()
while len(list(here.glob("*.ready"))) < 2:  # both train at the same time
    time.sleep(0.01)
for _ in range(100):
    with hotloop.profile("env.step"):
        time.sleep(0.01)
    with hotloop.profile("learn.backward"):
        time.sleep(0.01)
    hotloop.count("env_steps", 1)
"""


@needs_namespaces
def test_the_same_command_on_two_machines_is_one_run(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    run = f"{sys.executable} -m hotloop run -q --join -o cap train.py"
    script = f"hostname machine-b && RANK=1 exec {run}"
    other = subprocess.Popen(["unshare", "-u", "sh", "-c", script], cwd=tmp_path)
    assert (
        hotloop("run", "-q", "--join", "-o", "cap", "train.py", env={"RANK": "0"}).returncode == 0
    )
    assert other.wait() == 0
    document = json.loads(hotloop("report", "cap", "--format", "json").stdout)
    trained = {p["process"] for p in document["phases"] if p["name"] == "learn.backward"}
    assert len(trained) == 2
    hosts = {process["host"] for process in document["processes"]}
    assert len(hosts) == 2
    assert "machine-b" in hosts


def test_joining_needs_a_folder(hotloop: Hotloop, tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAIN)
    done = hotloop("run", "--join", "train.py")
    check_refused(done, "--join needs -o")


@pytest.mark.framework
@needs_namespaces
def test_actors_without_the_folder_send_their_shards_over_ray(
    hotloop: Hotloop, tmp_path: Path
) -> None:
    pytest.importorskip("ray")
    shared = tmp_path / "shared"
    shared.mkdir()
    program = str(PROGRAMS / "ray_other_machine.py")
    done = hotloop("run", "-q", "-o", str(shared / "cap"), program, str(shared))
    assert done.returncode == 0, done.stderr
    document = json.loads(hotloop("report", str(shared / "cap"), "--format", "json").stdout)
    workers = [process for process in document["processes"] if process["host"] == "machine-b"]
    assert len(workers) == 2
    # What actors did in their last second before the shutdown may be lost.
    assert document["run"]["env_steps"] > 0.3 * int(done.stdout.split()[-1])
    table = {row["name"]: row["process"] for row in document["run_table"]}
    assert table["env.step"].startswith("Player")
