"""The training programs of `workloads/`: their modules, and whole runs of them."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

Done = subprocess.CompletedProcess[str]


class Modules:
    """A program's modules, as attributes that are imported when first asked for."""

    def __getattr__(self, name: str) -> ModuleType:
        return importlib.import_module(name)


class Workload:
    """One of the programs."""

    def __init__(self, name: str) -> None:
        self.folder = Path(__file__).parents[2] / "workloads" / name

    @contextmanager
    def modules(self) -> Iterator[Modules]:
        """Its modules, put away afterwards: other programs have modules of the same names."""
        names = [path.stem for path in self.folder.glob("*.py")]
        others = {name: sys.modules.pop(name) for name in names if name in sys.modules}
        sys.path.insert(0, str(self.folder))
        try:
            yield Modules()
        finally:
            sys.path.remove(str(self.folder))
            for name in names:
                sys.modules.pop(name, None)
            sys.modules.update(others)

    def load(self, *names: str) -> list[ModuleType]:
        with self.modules():
            return [importlib.import_module(name) for name in names]

    def run(self, *arguments: str, interpreter: tuple[str, ...] = (), **options: Any) -> Done:
        command = [sys.executable, *interpreter, str(self.folder / "train.py"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)

    def run_without_libraries(self) -> Done:
        # Isolated and without site-packages, Python finds the program and nothing installed.
        path = str(self.folder)
        program = f"import sys; sys.path.insert(0, {path!r}); import train; sys.exit(train.main())"
        command = [sys.executable, "-I", "-S", "-c", program]
        return subprocess.run(command, capture_output=True, text=True, timeout=60)


def figures(output: str, who: str) -> tuple[float, float]:
    """The mean return and its standard error in a program's last lines."""
    found = re.search(rf"^{who} policy\s+return (\S+) \+/- (\S+) over", output, re.MULTILINE)
    assert found, output
    return float(found[1]), float(found[2])


def value(output: str, label: str) -> str:
    """The first word after `label:` in what a run printed, without a percent sign."""
    found = re.search(rf"^{re.escape(label)}: ([^\s%]+)", output, re.MULTILINE)
    assert found, f"no {label!r} in:\n{output}"
    return found[1]


def check_refused(done: Done) -> None:
    """A bad argument is one line and exit code 2."""
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].startswith("train.py: error:")
    assert "Traceback" not in done.stderr


def check_names_the_extra(done: Done, extra: str) -> None:
    """A missing library is one line that says what to install."""
    assert done.returncode == 2
    assert f"pip install 'hotloop[{extra}]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1
