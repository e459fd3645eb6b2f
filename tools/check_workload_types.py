"""Type-check each workload on its own: they are separate programs with modules of equal names."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def main() -> int:
    failed = []
    for folder in sorted((ROOT / "workloads").iterdir()):
        if not (folder / "train.py").is_file():
            continue
        command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports", "."]
        command += [
            "--config-file",
            os.devnull,
            "--cache-dir",
            str(ROOT / ".mypy_cache" / folder.name),
        ]
        environment = {**os.environ, "MYPYPATH": str(ROOT / "src")}
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
        print(f"{folder.name}: {done.stdout.strip().splitlines()[-1] if done.stdout else ''}")
        if done.returncode:
            print(done.stdout, done.stderr, file=sys.stderr)
            failed.append(folder.name)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
