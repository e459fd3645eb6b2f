"""Child processes start as without hotloop, whatever `sitecustomize` they have."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from real_runs import Hotloop

from hotloop.run.settings import BOOTSTRAP

CHILD = """
import sys
own = sys.modules.get("sitecustomize")
print(own and (own.__name__, own.__file__, own.__spec__.origin, getattr(own, "mark", None)))
print(sys.path)
try:
    import sitecustomize
    print(sitecustomize is own)
except ImportError as error:
    print(repr(error), error.name)
"""
PROGRAM = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {CHILD!r}], check=True)\n"

OWN = {
    "none": None,
    "one": "mark = 5\nprint('mine')\n",
    "fails": "print('mine')\nraise ValueError('mine is broken')\n",
    "imports nothing": "import a_module_that_is_missing\n",
    "replaces itself": "import sys, types\nsys.modules[__name__].mark = 6\n",
}


@pytest.mark.parametrize("own", OWN)
@pytest.mark.parametrize("bootstraps", [1, 2])
def test_as_without_hotloop(own: str, bootstraps: int, hotloop: Hotloop, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    if OWN[own] is not None:
        (folder / "sitecustomize.py").write_text(OWN[own] or "")
    others = []
    for number in range(1, bootstraps):
        others.append(tmp_path / f"other-{number}")
        shutil.copytree(BOOTSTRAP, others[-1])
    environment = {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}
    plain = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
    )
    environment["PYTHONPATH"] = os.pathsep.join(map(str, [*others, folder]))
    under = hotloop("run", "-q", "-o", "cap", "-c", PROGRAM, env=environment)
    assert (under.returncode, under.stdout) == (plain.returncode, plain.stdout)
    # The command itself is a Python that has the user's own as well.
    assert set(under.stderr.splitlines()) == set(plain.stderr.splitlines())


def test_a_worker_below_two_bootstraps_joins(hotloop: Hotloop, tmp_path: Path) -> None:
    shutil.copytree(BOOTSTRAP, tmp_path / "other")
    code = (
        "import subprocess, sys\n"
        "child = 'from hotloop import count; count(\"env_steps\", 3)'\n"
        "subprocess.run([sys.executable, '-c', child], check=True)\n"
    )
    done = hotloop(
        "run", "-q", "-o", "cap", "-c", code, env={"PYTHONPATH": str(tmp_path / "other")}
    )
    assert (done.returncode, done.stderr) == (0, "")
    shards = [path for path in (tmp_path / "cap").glob("*.jsonl") if path.stem != "main"]
    assert len(shards) == 1
    assert '"env_steps":3' in shards[0].read_text()
