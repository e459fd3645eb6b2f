"""Fixtures for every test: a clock that tests set, both region clocks, the real command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

#: Fixtures that tests of several folders share; `tests/support` is on the path (pyproject.toml).
pytest_plugins = ["analyses", "browsing", "recorded_run", "retries", "sleeping_program"]


class FakeClock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def __call__(self) -> int:
        return self.ns

    def pass_ns(self, ns: int) -> None:
        self.ns += ns


#: Fixtures that run whole programs, seconds each: left out of `make quick`.
STARTS_PROGRAMS = {"profile", "press_ctrl_c", "program", "open_terminal", "recorded", "pytester"}


def pytest_configure() -> None:
    # A shell lets what it starts in the background ignore Ctrl-C, and children inherit that; the
    # programs of these tests must hear it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # And print as they do for everybody: what is in a buffer as they end is written late.
    os.environ.pop("PYTHONUNBUFFERED", None)
    # A key of a capture that the schema does not declare is an error, in subprocesses as well.
    os.environ["HOTLOOP_STRICT_SCHEMA"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        fixtures = set(getattr(item, "fixturenames", ()))
        if "browser" in fixtures:
            item.add_marker(pytest.mark.browser)
        if fixtures & STARTS_PROGRAMS:
            item.add_marker(pytest.mark.programs)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["native", "twin"])
def region_clock(request: pytest.FixtureRequest) -> ModuleType:
    """The module of one region clock; every test that asks runs over both."""
    if request.param == "twin":
        from hotloop.measure import twin

        return twin
    return pytest.importorskip("hotloop.measure._native", reason="nothing was compiled here")


@pytest.fixture
def hotloop(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """The real command, run in a folder of the test's own."""

    def run(
        *arguments: str, env: dict[str, str] | None = None, timeout: float = 120, **options: object
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "hotloop", *arguments],
            cwd=options.pop("cwd", tmp_path),
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=timeout,
            **options,
        )

    return run
