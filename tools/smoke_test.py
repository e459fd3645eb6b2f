"""What an installed wheel must do with nothing beside it: `python tools/smoke_test.py`.

Run by cibuildwheel for each wheel where it was built, and by `tests/tools/test_smoke_test.py`.
"""

from __future__ import annotations

import json
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

#: A worker, regions of the program's own, and enough work for samples.
PROGRAM = """
import multiprocessing, time
from hotloop import count, profile

def work(_):
    return sum(i * i for i in range(100_000))

def main():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        pool.map(work, range(2))
    for _ in range(20):
        with profile("features"):
            work(0)
        count("env_steps", 1)
    print("trained")

if __name__ == "__main__":
    main()
"""


def hotloop(*arguments: str, folder: str) -> str:
    command = [sys.executable, "-m", "hotloop", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{arguments}: {done.stdout}{done.stderr}"
    return done.stdout


def main() -> None:
    import hotloop as package
    from hotloop.measure import core

    has_gil = not sysconfig.get_config_var("Py_GIL_DISABLED")
    wants_native = "--pure" not in sys.argv and has_gil
    assert wants_native == core.NATIVE, core.WHY_TWIN
    assert getattr(sys, "_is_gil_enabled", lambda: True)() is has_gil
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "train.py").write_text(PROGRAM, encoding="utf-8")
        assert "trained" in hotloop("run", "-o", "capture", "train.py", folder=folder)
        report = json.loads(hotloop("report", "capture", "--format", "json", folder=folder))
        assert "features" in json.dumps(report["phases"])
        hotloop("report", "capture", "-o", "page.html", folder=folder)
        assert "features" in Path(folder, "page.html").read_text(encoding="utf-8")
        assert "snake" in hotloop("demo", "--help", folder=folder)
    print(f"hotloop {package.__version__} works on {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
