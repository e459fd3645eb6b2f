"""What the fault tests share: the short and the full form, and their counts in the output.

pytest tests/faults            the short form, a part of `make test`
pytest tests/faults --full     the full form: `make faults`
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Say = Callable[[str], None]

#: What a test has seen is a property of its report, which comes from workers of pytest-xdist too.
_SAID = "faults"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--full", action="store_true", help="the full form of the fault tests")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    said = {
        report.nodeid: text
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, text in getattr(report, "user_properties", ())
        if name == _SAID
    }
    if said:
        terminalreporter.section("faults")
        for line in said.values():
            terminalreporter.line(f"faults: {line}")


@pytest.fixture(scope="session")
def full(pytestconfig: pytest.Config) -> bool:
    """Whether the full form was asked for."""
    return bool(pytestconfig.getoption("--full", default=False))


@pytest.fixture
def say(request: pytest.FixtureRequest) -> Say:
    """Put what a test has seen, with its counts, into the output."""

    def say(text: str) -> None:
        kept = request.node.user_properties
        kept[:] = [each for each in kept if each[0] != _SAID] + [(_SAID, text)]

    return say


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Compiles a shared library with the system's compiler; skips where there is none."""

    def compile(name: str, sources: list[Path], *options: str) -> Path:
        made = tmp_path_factory.mktemp("compiled") / name
        command = ["gcc", "-shared", "-fPIC", "-g", *options, *map(str, sources), "-o", str(made)]
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except FileNotFoundError:
            pytest.skip("no gcc here")
        if done.returncode:
            pytest.skip(f"gcc cannot do this here: {done.stderr[-300:]}")
        return made

    return compile
