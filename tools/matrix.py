"""Tests hotloop on every CPython found here and prints one table: `make matrix`.

Interpreters are those on PATH, pyenv's, those named with `--python`, and those of Debian systems
below `--roots` (made there by `--debootstrap trixie sid`, entered with chroot; both need root).
Each gets a virtual environment with hotloop compiled for it and the test libraries that have
wheels for that Python. The sources are copied first, so a run is not disturbed by edits.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
OLDEST = (3, 10)
#: Tests of the core need no training library; hook tests without their library are skipped.
CORE = ["tests/measure", "tests/capture", "tests/run", "tests/hooks", "tests/analyze"]
CORE += ["tests/diagnose", "tests/report", "tests/test_masking.py"]
NEEDED = ["pytest>=8", "pytest-rerunfailures", "hypothesis>=6"]
#: Small enough for every interpreter; `--library` adds more.
LIBRARIES = ["numpy", "gymnasium"]
#: Where the copied sources are found inside a Debian root.
INSIDE = "/hotloop-matrix"
#: A mount namespace of its own: nothing stays mounted, however the command ends.
ENTER = f"""
root=$0; work=$1; shift
for folder in proc dev sys; do mount --rbind /$folder "$root/$folder"; done
mkdir -p "$root/etc/ssl/certs" "$root{INSIDE}"; mount --bind "$work" "$root{INSIDE}"
mount --bind /etc/ssl/certs "$root/etc/ssl/certs"
for file in /etc/resolv.conf /etc/pip.conf; do
  [ -e $file ] && touch "$root$file" && mount --bind $file "$root$file"
done
exec chroot "$root" "$@"
"""
ABOUT = """
import json, platform, sys, sysconfig
print(json.dumps({
    "version": platform.python_version(),
    "known": sys.version_info[:2],
    "free": bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
    "headers": sysconfig.get_path("include"),
    "implementation": platform.python_implementation(),
}))
"""
CLOCK = """
import sys
import hotloop.measure.core
native = "hotloop.measure._native" in sys.modules
gil = getattr(sys, "_is_gil_enabled", lambda: True)()
print("native" if native else "twin", "on" if gil else "off")
"""


@dataclass(frozen=True)
class Interpreter:
    """A Python of this system, or of a Debian root."""

    python: str
    version: str
    free_threaded: bool
    root: Path | None

    @property
    def name(self) -> str:
        return self.version + ("t" if self.free_threaded else "")

    @property
    def origin(self) -> str:
        if self.root:
            return f"Debian {self.root.name}"
        return "pyenv" if ".pyenv" in self.python else str(Path(self.python).parent)


@dataclass
class Outcome:
    """One row of the table."""

    interpreter: Interpreter
    clock: str = "-"
    gil: str = "-"
    libraries: str = "-"
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0
    problem: str = ""

    @property
    def succeeded(self) -> bool:
        # Importing the native core would switch the GIL on for a whole free-threaded program.
        expected = ("twin", "off") if self.interpreter.free_threaded else ("native", "on")
        fits = (self.clock, self.gil) == expected
        return self.passed > 0 and not self.failed and not self.problem and fits


class Bench:
    """Runs commands of an interpreter, in its root where it has one."""

    def __init__(self, work: Path, interpreter: Interpreter) -> None:
        self.interpreter = interpreter
        self._work = work
        self._base = INSIDE if interpreter.root else str(work)
        self.source = f"{self._base}/source"
        origin = interpreter.root.name if interpreter.root else "host"
        self._venv = f"{self._base}/venvs/{interpreter.name}-{origin}"
        self.log = work / f"{interpreter.name}-{origin}.log"
        self.python = f"{self._venv}/bin/python"

    def run(self, *command: str, cwd: str = "/") -> subprocess.CompletedProcess[str]:
        environment = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        line = ["env", "-C", cwd, *command]
        if root := self.interpreter.root:
            line = [*entering(root, self._work), *line]
        done = subprocess.run(line, capture_output=True, text=True, env=environment, check=False)
        with self.log.open("a") as log:
            log.write(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}\n")
        return done

    def install(self, *requirements: str) -> bool:
        pip = [self.python, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
        return self.run(*pip, *requirements).returncode == 0

    def create(self) -> bool:
        return (
            self.run(self.interpreter.python, "-m", "venv", "--clear", self._venv).returncode == 0
        )


def entering(root: Path, work: Path) -> list[str]:
    namespace = ["unshare", "--mount", "--propagation", "private"]
    return [*namespace, "sh", "-c", ENTER, str(root), str(work)]


def candidates(arguments: argparse.Namespace) -> Iterator[tuple[str, Path | None]]:
    yield from ((str(Path(python).absolute()), None) for python in arguments.python)
    if arguments.here:
        yield sys.executable, None
        return
    names = re.compile(r"python3\.\d+t?$")
    folders = [Path(folder) for folder in os.environ.get("PATH", "").split(os.pathsep)]
    folders += sorted(Path.home().glob(".pyenv/versions/3.*/bin"))
    for folder in folders:
        if folder.is_dir() and "shims" not in folder.parts:
            yield from ((str(p), None) for p in sorted(folder.iterdir()) if names.match(p.name))
    if arguments.roots and os.geteuid() == 0:
        for root in sorted(arguments.roots.iterdir()):
            found = sorted((root / "usr/bin").glob("python3.*"))
            yield from ((f"/usr/bin/{p.name}", root) for p in found if names.match(p.name))


def interpreters(arguments: argparse.Namespace, work: Path) -> list[Interpreter]:
    """Every supported Python with headers, each version of each system once."""
    found: dict[tuple[str, bool, Path | None], Interpreter] = {}
    for python, root in candidates(arguments):
        enter = entering(root, work) if root else []
        done = subprocess.run([*enter, python, "-c", ABOUT], capture_output=True, text=True)
        if done.returncode:
            continue
        about = json.loads(done.stdout)
        headers = Path(f"{root or ''}{about['headers']}/Python.h")
        if tuple(about["known"]) >= OLDEST and about["implementation"] == "CPython":
            if not headers.is_file():
                print(f"{python}: no Python.h, left out", file=sys.stderr)
                continue
            one = Interpreter(python, about["version"], about["free"], root)
            found.setdefault((one.version, one.free_threaded, root), one)
    order = sorted(
        found.values(), key=lambda one: [int(n) for n in re.findall(r"\d+", one.version)]
    )
    only = tuple(arguments.only)
    return [one for one in order if not only or one.name.startswith(only)]


def copy_sources(work: Path) -> None:
    shutil.rmtree(work / "source", ignore_errors=True)
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    names = subprocess.run(
        listing, cwd=REPOSITORY, capture_output=True, text=True, check=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (REPOSITORY / name).is_file():
            target = work / "source" / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, target)


def examine(bench: Bench, libraries: Sequence[str], tests: Sequence[str]) -> Outcome:
    outcome = Outcome(bench.interpreter)
    started = time.monotonic()
    bench.log.unlink(missing_ok=True)
    # Each Python compiles for itself: no objects of the one before.
    shutil.rmtree(bench.log.parent / "source/build", ignore_errors=True)
    # An older release with a wheel rather than the newest that would have to be compiled.
    wheels = "--only-binary=:all:"
    if not (bench.create() and bench.install(wheels, *NEEDED) and bench.install(bench.source)):
        outcome.problem = "could not be installed"
        return outcome
    outcome.libraries = ", ".join(x for x in libraries if bench.install(wheels, x))
    outcome.clock, outcome.gil = (bench.run(bench.python, "-c", CLOCK).stdout.split() or "--")[:2]
    pytest = [bench.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-m", "not browser"]
    done = bench.run(*pytest, *tests, cwd=bench.source)
    lines = done.stdout.strip().splitlines() or [f"ended with {done.returncode}"]
    counts = {word: int(n) for n, word in re.findall(r"(\d+) (\w+)", lines[-1])}
    outcome.passed, outcome.skipped = counts.get("passed", 0), counts.get("skipped", 0)
    outcome.failed = counts.get("failed", 0) + counts.get("error", 0) + counts.get("errors", 0)
    if done.returncode not in (0, 1):
        outcome.problem = lines[-1]
    outcome.seconds = time.monotonic() - started
    return outcome


def table(outcomes: Sequence[Outcome]) -> str:
    head = ["Python", "from", "core", "GIL", "libraries", "passed", "failed", "skipped", "time"]
    rows = [
        [
            one.interpreter.name,
            one.interpreter.origin,
            one.clock,
            one.gil,
            one.libraries or "none",
            one.problem or str(one.passed),
            str(one.failed),
            str(one.skipped),
            f"{one.seconds:.0f} s",
        ]
        for one in outcomes
    ]
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [head, ["-" * width for width in widths], *rows]
    ]
    return "\n".join(lines)


def bootstrap(suite: str, roots: Path) -> None:
    """A small Debian with its Python, headers and compiler."""
    if (roots / suite / "usr/bin/python3").exists():
        return
    include = "python3,python3-venv,python3-dev,gcc,libc6-dev,ca-certificates"
    command = ["debootstrap", "--variant=minbase", f"--include={include}", suite]
    subprocess.run([*command, str(roots / suite)], check=True, stdout=subprocess.DEVNULL)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", action="append", default=[], help="one more interpreter")
    parser.add_argument("--here", action="store_true", help="only the Python that runs this")
    parser.add_argument("--roots", type=Path, help="folder of Debian roots")
    parser.add_argument("--debootstrap", nargs="*", default=[], metavar="SUITE")
    parser.add_argument("--library", action="append", default=[], help="one more test library")
    parser.add_argument(
        "--only", nargs="+", default=[], metavar="VERSION", help="such as 3.14 3.13.5t"
    )
    parser.add_argument("--work", type=Path, default=REPOSITORY / "build/matrix")
    parser.add_argument("tests", nargs="*", default=CORE, help="default: core and hook tests")
    arguments = parser.parse_args()
    if not all(re.match(r"3\.\d", version) for version in arguments.only):
        parser.error("--only takes versions, such as 3.14; write tests before it")
    work = arguments.work.absolute()
    work.mkdir(parents=True, exist_ok=True)
    for suite in arguments.debootstrap:
        bootstrap(suite, arguments.roots)
    copy_sources(work)
    outcomes = []
    for interpreter in interpreters(arguments, work):
        print(f"{interpreter.name} ({interpreter.origin}) …", file=sys.stderr, flush=True)
        bench = Bench(work, interpreter)
        outcomes.append(examine(bench, [*LIBRARIES, *arguments.library], arguments.tests))
        if not outcomes[-1].succeeded:
            print(f"  not green: see {bench.log}", file=sys.stderr, flush=True)
    print(table(outcomes))
    return 0 if outcomes and all(one.succeeded for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
