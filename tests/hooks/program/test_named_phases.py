"""`--phase` and `[tool.hotloop.phases]`: the program's own functions as phases."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from hotloop.errors import HotloopError
from hotloop.hooks.program.named_phases import Pattern, parse_phase, phases_of_project

LOADER = """
import sys, time

spent = {}

def busy(seconds, name):
    begin = time.perf_counter()
    while time.perf_counter() < begin + seconds:
        pass
    # On a machine with other work a loop takes longer than it was asked to.
    spent[name] = spent.get(name, 0.0) + time.perf_counter() - begin

def tell():
    print("spent", spent, file=sys.stderr)

def load_prices(n):
    busy(0.1, "load")
    return list(range(n))

def rows(n):
    for i in range(n):
        busy(0.1, "rows")
        yield i

class Base:
    def shared(self):
        busy(0.1, "shared")

class Analyzer(Base):
    def averages(self, prices):
        busy(0.1, "analyzer")
        return sum(prices) / len(prices)

    @staticmethod
    def spread(prices):
        busy(0.1, "analyzer")
        return max(prices) - min(prices)

    def both(self, prices):
        return self.averages(prices), self.spread(prices)

    def __len__(self):
        return 3
"""

TRAIN = """
from loader import Analyzer, load_prices, rows, tell

def own():
    return 1

prices = load_prices(10)
analyzer = Analyzer()
analyzer.shared()
print(analyzer.both(prices), len(analyzer), sum(rows(3)), own())
tell()
"""


def spent(run: Any) -> dict[str, float]:
    """What the program itself says that its busy loops took."""
    line = next(line for line in run.err.splitlines() if line.startswith("spent "))
    return dict(ast.literal_eval(line.removeprefix("spent ")))


def assert_holds(run: Any, phase: str, place: str) -> None:
    """The phase holds what was spent in its place, and not what was spent in another as well."""
    assert 0.99 < run.seconds(phase) / spent(run)[place] < 1.25


@pytest.fixture
def program(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "loader.py").write_text(LOADER)
    (folder / "train.py").write_text(TRAIN)
    return folder / "train.py"


@pytest.mark.parametrize(
    ("text", "pattern"),
    [
        ("data=loader:load", Pattern("data", "loader", "load")),
        ("features=a.b:Analyzer.*", Pattern("features", "a.b", "Analyzer.*")),
        ("env.step=__main__:step", Pattern("env.step", "__main__", "step")),
        ("x=my_*:run?", Pattern("x", "my_*", "run?")),
    ],
)
def test_pattern_parses(text: str, pattern: Pattern) -> None:
    assert parse_phase(text) == pattern
    assert parse_phase(str(pattern)) == pattern


@pytest.mark.parametrize(
    "text", ["", "data", "data=loader", "=loader:load", "data=:load", "data=loader:", "a b=c:d",
             "data=loader:load()", "data=1oader:load", "data=loader:.load", "data=loader..x:y"]
)  # fmt: skip
def test_pattern_that_does_not_parse(text: str, program: Path) -> None:
    with pytest.raises(HotloopError, match="--phase"):
        parse_phase(text)


def test_bad_pattern_ends_before_the_program_starts(program: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "hotloop", "run", "--phase", "nonsense", str(program)],
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert "phase=module:function" in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "runs").exists()


def test_functions_become_phases(profile: Any, program: Path) -> None:
    options = ("--phase", "data=loader:load_prices", "--phase", "features=loader:Analyzer.*")
    run = profile(program, options=options)
    assert run.out == profile(program, hotloop=False).out
    assert_holds(run, "data", "load")
    assert run.calls("features") == 1  # what `both` calls is inside it
    assert_holds(run, "features", "analyzer")
    assert run.report["named_phases"] == {
        "data=loader:load_prices": 1,
        "features=loader:Analyzer.*": 3,
    }


def test_script_generators_and_inherited_methods(profile: Any, program: Path) -> None:
    options = (
        *("--phase", "mine=__main__:own"),
        *("--phase", "stream=loader:rows"),
        *("--phase", "shared=loader:Analyzer.shared"),
    )
    run = profile(program, options=options)
    assert run.calls("mine") == 1
    assert run.calls("stream") == 4  # three rows, and the end
    assert_holds(run, "stream", "rows")
    assert run.calls("shared") == 1


def test_script_is_also_known_by_its_file(profile: Any, program: Path) -> None:
    assert profile(program, options=("--phase", "mine=train:own")).calls("mine") == 1


def test_library_function_by_its_full_name(profile: Any) -> None:
    source = "import json\nfor _ in range(3): json.dumps([1])\n"
    assert profile(source, options=("--phase", "text=json:dumps")).calls("text") == 3


def test_name_that_matches_nothing_is_told_at_the_end(profile: Any, program: Path) -> None:
    run = profile(program, options=("--phase", "data=loader:gone"))
    assert "--phase data=loader:gone: no function of that name was found" in run.err


def test_project_file(profile: Any, program: Path) -> None:
    (program.parent / "pyproject.toml").write_text(
        '[tool.hotloop.phases]\ndata = "loader:load_prices"\n'
        'features = ["loader:Analyzer.averages", "loader:Analyzer.spread"]\n'
    )
    run = profile(program)
    assert run.calls("data") == 1
    assert run.calls("features") == 2
    # What the command line says comes first.
    run = profile(program, options=("--phase", "other=loader:load_prices"))
    assert (run.calls("other"), run.calls("data")) == (1, 0)


def test_project_file_with_a_mistake(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.hotloop.phases]\ndata = "loader"\n')
    with pytest.raises(HotloopError, match=r"pyproject\.toml"):
        phases_of_project(tmp_path)


def test_project_file_of_somebody_else(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("not toml at all [")
    assert phases_of_project(tmp_path / "deep" / "er") == []


def test_named_phase_corrects_a_shape(profile: Any) -> None:
    source = """
class Memory:
    def __init__(self, capacity): self.rows = []
    def __len__(self): return len(self.rows)
    def push(self, row): self.rows.append(row)
    def sample(self, n): return self.rows[:n]

memory = Memory(3)
for i in range(4):
    memory.push(i)
    memory.sample(1)
"""
    options = ("--phase", "log=__main__:Memory.push", "--phase", "none=__main__:Memory.sample")
    run = profile(source, options=options)
    assert run.calls("log") == 4
    assert run.calls("buffer.add") == run.calls("buffer.sample") == 0
