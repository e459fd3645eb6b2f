"""Runs test suites of other projects plain and under hotloop, and compares them test by test.

    python tools/conformance.py                     every suite whose library is installed
    python tools/conformance.py --short             a few files of each, minutes in all
    python tools/conformance.py --suite gymnasium   one suite; more of these are allowed
    python tools/conformance.py --suite sb3 --files test_envs.py test_gae.py
    python tools/conformance.py --suite gymnasium --files vector spaces   whole folders
    python tools/conformance.py --suite tianshou --checkout ../tianshou

Source archives come from PyPI, in the version that is installed, into `build/conformance/`.
Projects whose archive has few tests or none are run from a checkout. Each file is a process of its
own: one that crashes or hangs costs no other. A test that differs runs again, both ways; if it is
the same then, it is counted as unstable. Prints a Markdown table (docs/proof-faults.md) and exits
with 1 if any test differs.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "build" / "conformance"
#: A file that hangs under hotloop is a difference; this ends it.
TIMEOUT_S = 1800

Outcomes = dict[str, str]


@dataclass(frozen=True)
class Suite:
    name: str
    distribution: str
    #: The folder with the tests, in the archive.
    tests: str = "tests"
    #: The files of the short form.
    short: tuple[str, ...] = ()


SUITES = (
    Suite("gymnasium", "gymnasium", short=("test_core.py",)),
    Suite("sb3", "stable-baselines3", short=("test_preprocessing.py", "test_vec_monitor.py")),
    Suite("sb3-contrib", "sb3-contrib", short=("test_distributions.py",)),
    Suite("pettingzoo", "pettingzoo", tests="test", short=("test_registry.py",)),
    Suite("skrl", "skrl"),
    Suite("flax", "flax", short=("core/core_frozen_dict_test.py", "core/core_meta_test.py")),
    Suite("cloudpickle", "cloudpickle"),
    Suite("tensordict", "tensordict", tests="test"),
    Suite("tianshou", "tianshou", tests="test"),
)


@dataclass
class Result:
    suite: Suite
    plain: Outcomes = field(default_factory=dict)
    hotloop: Outcomes = field(default_factory=dict)
    unstable: list[str] = field(default_factory=list)

    @property
    def different(self) -> list[str]:
        names = self.plain.keys() | self.hotloop.keys()
        return sorted(
            name
            for name in names
            if self.plain.get(name) != self.hotloop.get(name) and name not in self.unstable
        )

    @property
    def same(self) -> int:
        return len(self.plain) - len(self.unstable) - len(self.different)


def installed(suite: Suite) -> str | None:
    try:
        return version(suite.distribution)
    except PackageNotFoundError:
        return None


def fetch(suite: Suite, checkout: Path | None = None) -> Path:
    """The folder with the suite's tests: in a checkout, or downloaded once."""
    if checkout is not None:
        return checkout.resolve() / suite.tests
    folder = FOLDER / f"{suite.name}-{installed(suite)}"
    if not folder.exists():
        folder.mkdir(parents=True)
        wanted = f"{suite.distribution}=={installed(suite)}"
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
        command += ["--no-build-isolation", "--no-binary", ":all:", "--dest", str(folder), wanted]
        # Without its build tools pip may fail to read metadata after the download.
        subprocess.run(command, check=False)
        for archive in folder.glob("*.tar.gz"):
            with tarfile.open(archive) as opened:
                opened.extractall(folder, filter="data")
    found = sorted(folder.glob(f"*/{suite.tests}"))
    if not found:
        raise SystemExit(f"{suite.name}: no {suite.tests}/ in its source archive; use --checkout")
    return found[0]


def run_tests(suite: Suite, folder: Path, tests: Sequence[str], *, under_hotloop: bool) -> Outcomes:
    """The outcome of each test."""
    results = FOLDER / f"{suite.name}-{'hotloop' if under_hotloop else 'plain'}.xml"
    results.unlink(missing_ok=True)
    command = [sys.executable, "-m"]
    if under_hotloop:
        command += ["hotloop", "run", "-q", "-m"]
    command += ["pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist", "--import-mode=prepend"]
    # One process, whatever the project's own settings ask for; files of which one needs something
    # that is not installed.
    command += ["-o", "addopts=", "--continue-on-collection-errors"]
    command += [f"--rootdir={folder}", f"--junitxml={results}", *tests]
    # Captures go where the tests are, in the ignored folder.
    log = results.with_suffix(".log")
    with log.open("wb") as output:
        try:
            subprocess.run(
                command,
                cwd=folder.parent,
                # Faster for small networks, and the same sums each time.
                env=dict(os.environ, OMP_NUM_THREADS="1"),
                stdout=output,
                stderr=output,
                timeout=TIMEOUT_S,
            )
        except subprocess.TimeoutExpired:
            return {"(the suite)": "did not end"}
    return read_outcomes(results) if results.exists() else {"(the suite)": f"crashed, see {log}"}


def read_outcomes(results: Path) -> Outcomes:
    outcomes = {}
    for case in ElementTree.parse(results).iter("testcase"):
        kinds = [child.tag for child in case if child.tag in ("failure", "error", "skipped")]
        name = f"{case.get('classname')}::{case.get('name')}"
        outcomes[name] = kinds[0] if kinds else "passed"
    return outcomes


def files_in(folder: Path) -> list[str]:
    """The files with tests, as pytest and Abseil name them."""
    found = {path for pattern in ("test_*.py", "*_test.py") for path in folder.rglob(pattern)}
    return sorted(str(path.relative_to(folder)) for path in found)


def compare(suite: Suite, files: Sequence[str], checkout: Path | None = None) -> Result:
    folder = fetch(suite, checkout)
    result = Result(suite)
    for file in files or files_in(folder):
        one = compare_file(suite, folder, file)
        result.plain |= one.plain
        result.hotloop |= one.hotloop
        result.unstable += one.unstable
        print(f"{suite.name} {file}: {one.same} of {len(one.plain)}", file=sys.stderr, flush=True)
    return result


def compare_file(suite: Suite, folder: Path, file: str) -> Result:
    tests = [str(folder / file)]

    def outcomes(*tests: str, under_hotloop: bool) -> Outcomes:
        found = run_tests(suite, folder, tests, under_hotloop=under_hotloop)
        return {f"{file}: {name}": outcome for name, outcome in found.items()}

    result = Result(
        suite, outcomes(*tests, under_hotloop=False), outcomes(*tests, under_hotloop=True)
    )
    if different := result.different:
        # Tests that use real time or unseeded numbers fail now and then without hotloop, too.
        functions = {name.rpartition("::")[2].partition("[")[0] for name in different}
        selected = [*tests, "-k", " or ".join(sorted(functions))]
        again = [outcomes(*selected, under_hotloop=way) for way in (False, True)]
        result.unstable = [
            name for name in different if name in again[0] and again[0][name] == again[1].get(name)
        ]
    return result


def table(results: list[Result]) -> str:
    lines = ["| suite | tests | same | unstable | different |", "|---|---:|---:|---:|---|"]
    for result in results:
        named = f"{result.suite.distribution} {installed(result.suite)}"
        different = ", ".join(result.different) or "none"
        counts = f"{len(result.plain)} | {result.same} | {len(result.unstable)}"
        lines.append(f"| {named} | {counts} | {different} |")
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--suite", action="append", choices=[suite.name for suite in SUITES])
    parser.add_argument("--short", action="store_true", help="a few files of each suite")
    parser.add_argument("--files", nargs="+", default=[], help="these files of the suite's tests")
    parser.add_argument("--checkout", type=Path, help="the project's sources, for one suite")
    options = parser.parse_args()
    if options.checkout is not None and len(options.suite or ()) != 1:
        parser.error("--checkout is for one --suite")
    results = []
    for suite in SUITES:
        if options.suite and suite.name not in options.suite:
            continue
        if installed(suite) is None:
            print(f"{suite.name}: not installed, left out", file=sys.stderr)
            continue
        if options.short and not suite.short:
            continue
        files = options.files or (suite.short if options.short else ())
        try:
            results.append(compare(suite, files, options.checkout))
        except SystemExit as error:
            if options.suite:
                raise
            print(error, file=sys.stderr)
            continue
        print(table(results[-1:]).splitlines()[-1], file=sys.stderr, flush=True)
    print(table(results))
    return 1 if any(result.different for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
