"""The pytest plugin: a test fails if its training has become slower by more than noise.

    @pytest.mark.hotloop(max_share={"log": 0.05}, min_steps_per_s_ratio=0.9)
    def test_training_stays_fast():
        train(steps=20_000)

pytest loads this file in every run where hotloop is installed, so it imports nothing but pytest
until a test has the mark.
"""

from __future__ import annotations

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

MARK = "hotloop"
FOLDER = ".hotloop-baseline"


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("hotloop")
    group.addoption(
        "--hotloop-update-baseline",
        action="store_true",
        help="make this run the baseline of every test marked hotloop",
    )
    group.addoption(
        "--hotloop-baseline",
        metavar="FOLDER",
        help=f"folder of baselines (default: {FOLDER} in pytest's root folder)",
    )
    parser.addini("hotloop_baseline", f"folder of baselines (default: {FOLDER})", default=FOLDER)


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        f"{MARK}(max_share, min_steps_per_s_ratio, max_phase_ratio, any_work): measure the "
        "training in this test and check it against these limits",
    )


# An old-style wrapper: pluggy before 1.2 knows no other, and would refuse the whole plugin.
@pytest.hookimpl(hookwrapper=True, trylast=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, None]:
    mark = item.get_closest_marker(MARK)
    if mark is None:
        yield
        return
    from hotloop.errors import HotloopError
    from hotloop.integrations.marked_test import MarkedTest, limits_of

    try:
        limits = limits_of(mark.args, mark.kwargs)
        update = bool(item.config.getoption("--hotloop-update-baseline"))
        test = MarkedTest(item.nodeid, limits, _folder(item.config), update)
        test.recording.begin()
    except HotloopError as error:
        pytest.fail(f"hotloop: {error}", pytrace=False)
    if not test.recording.is_on:
        _note(item, "already measured by `hotloop run`; limits are not checked")
        yield
        return
    outcome: Any = None
    try:
        with test.measuring():
            outcome = yield
            outcome.get_result()
    except BaseException:
        if outcome is None or outcome.excinfo is None:
            raise
        return  # the test failed by itself: it is not judged, and its error stays the outcome
    try:
        failure = test.judge()
    except HotloopError as error:
        failure = str(error)
    for line in test.lines:
        _note(item, line)
    if failure is not None:
        _fail(outcome, f"hotloop: {failure}")


def _fail(outcome: Any, reason: str) -> None:
    error = pytest.fail.Exception(reason, pytrace=False)
    if hasattr(outcome, "force_exception"):
        outcome.force_exception(error)
    else:  # pluggy before 1.1, where raising here would keep other wrappers from ending
        outcome._excinfo = (type(error), error, None)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What was found, of every test with the mark."""
    reports = [r for kind in ("passed", "failed") for r in terminalreporter.getreports(kind)]
    said = [(r.nodeid, text) for r in reports for key, text in r.user_properties if key == MARK]
    if said:
        terminalreporter.section("hotloop")
        for test, text in said:
            terminalreporter.write_line(f"{test}  {text}")


def _note(item: pytest.Item, text: str) -> None:
    # These travel with the test's report, also from the processes of pytest-xdist.
    item.user_properties.append((MARK, text))


def _folder(config: pytest.Config) -> Path:
    given = config.getoption("--hotloop-baseline")
    return Path(given) if given else config.rootpath / str(config.getini("hotloop_baseline"))
