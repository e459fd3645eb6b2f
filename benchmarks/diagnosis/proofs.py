"""Print for how many causes `hotloop prove` has a fix that applies and is confirmed.

python -m benchmarks.diagnosis.proofs                      every cause
python -m benchmarks.diagnosis.proofs logging --budget 5m  some causes

Each program runs from a fresh copy of its folder, and a digest of that folder before and after
says whether `prove` changed anything in it.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.diagnosis.limits import NotHereError, limited
from benchmarks.diagnosis.runs import all_ids, program

#: Causes that are explained, not fixed.
HEALTHY = ("learning-starts", "longer-episodes")
#: The core's share that a container of `cpu-quota` has.
QUOTA_CORES = 0.5


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ids", nargs="*")
    parser.add_argument("--budget", default="5m")
    parser.add_argument("--json", type=Path, help="append each proof as a line")
    options = parser.parse_args()
    rows = []
    for id in options.ids or [id for id in all_ids() if id not in HEALTHY]:
        try:
            proof = proof_of(id, options.budget)
        except NotHereError as error:
            print(f"{id:<26} not here: {error}", flush=True)
            continue
        except (RuntimeError, subprocess.TimeoutExpired) as error:
            print(f"{id:<26} failed: {str(error)[-300:]}", flush=True)
            continue
        rows.append((id, proof))
        print(row(id, proof), flush=True)
        if options.json:
            with options.json.open("a") as file:
                file.write(json.dumps({"id": id, **proof}) + "\n")
    print(summary(rows))
    return 0


def proof_of(id: str, budget: str) -> dict[str, Any]:
    """What `prove` finds out about a slow program."""
    path = program(id, "slow")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary) / "programs"
        shutil.copytree(path.parent, folder, ignore=shutil.ignore_patterns("__pycache__"))
        before = digest(folder)
        command = [sys.executable, "-m", "hotloop", "prove", "--budget", budget]
        command += ["--allow-learning-changes", "--format", "json"]
        command += ["--folder", str(Path(temporary) / "runs"), "--", path.name]
        if id == "cpu-quota":
            with limited(QUOTA_CORES) as group:
                done = _call([*group, *command], folder)
        else:
            done = _call(command, folder)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        proof: dict[str, Any] = json.loads(done.stdout)
        proof["untouched"] = digest(folder) == before
        return proof


def _call(command: list[str], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=1800, check=False
    )


def digest(folder: Path) -> str:
    """Names and contents of everything in a folder but Python's caches and hotloop's captures."""
    found = hashlib.sha256()
    for path in sorted(folder.rglob("*")):
        if not {"__pycache__", "runs"} & set(path.relative_to(folder).parts):
            found.update(str(path.relative_to(folder)).encode())
            found.update(path.read_bytes() if path.is_file() else b"")
    return found.hexdigest()


def of_cause(id: str, proof: dict[str, Any]) -> dict[str, Any] | None:
    """The most telling result about the cause that was planted."""
    order = ("confirmed", "unclear", "refuted", "unsafe", "ceiling", "failed", "not tried")
    own = [each for each in proof["tried"] if each["finding"] == id]
    return min(own, key=lambda each: order.index(each["verdict"]), default=None)


def row(id: str, proof: dict[str, Any]) -> str:
    tried = of_cause(id, proof)
    others = sorted({each["finding"] for each in proof["tried"]} - {id})
    rest = "" if proof["untouched"] else "  FILES CHANGED"
    if tried is None:
        return f"{id:<26} not found: {', '.join(others) or 'no finding'}{rest}"
    gain = f"{tried['gain']:.2f} ({tried['low']:.2f}-{tried['high']:.2f})" if tried["low"] else "-"
    kind = "patch" if tried["diff"] else "run time"
    why = tried["weights"] if tried["verdict"] == "confirmed" else tried["why"]
    return (
        f"{id:<26} {tried['verdict']:<10} {gain:<20} {kind:<9} {tried['fix']:<28} "
        f"{proof['spent_s']:4.0f} s  {why}{rest}"
    )


def summary(rows: list[tuple[str, dict[str, Any]]]) -> str:
    found = [tried for id, proof in rows if (tried := of_cause(id, proof))]
    fixes = [each for each in found if each["fix"] and each["verdict"] != "ceiling"]
    applied = [each for each in fixes if each["verdict"] not in ("failed", "not tried")]
    confirmed = [each for each in applied if each["verdict"] == "confirmed"]
    return (
        f"\n{len(rows)} causes tried, {len(applied)} with a fix that applies, {len(confirmed)} of "
        f"those confirmed; files changed: {sum(not proof['untouched'] for _, proof in rows)}"
    )


if __name__ == "__main__":
    sys.exit(main())
