"""What every test may use: a clock that is told the time, and both region clocks."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest


class FakeClock:
    """Time that passes only when a test says so."""

    def __init__(self) -> None:
        self.ns = 1_000_000_000

    def __call__(self) -> int:
        return self.ns

    def pass_ns(self, ns: int) -> None:
        self.ns += ns


#: Fixtures that run programs in real time, beside whatever else the machine does.
IN_REAL_TIME = {"hotloop", "profile", "open_terminal", "recorded", "pytester"}
#: Such a test may be tried again: one that is wrong is wrong every time.
TRIES_MORE = 2


def pytest_configure() -> None:
    # A shell lets what it starts in the background ignore Ctrl-C, and children inherit that; the
    # programs of these tests must hear it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    # And print as they do for everybody: what is in a buffer as they end is written late.
    os.environ.pop("PYTHONUNBUFFERED", None)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if IN_REAL_TIME & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.flaky(reruns=TRIES_MORE))


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
        import os

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
