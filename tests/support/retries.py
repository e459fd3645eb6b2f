"""One retry for tests that measure real time, and a limit on how many a run may use.

A test marked `real_time` asserts how long something took, which another process on the same core can
change. It may fail once. All other tests get no second try: a race shows as a failure. Retries are
printed at the end of a run, and more than `MOST_RETRIES` of them fail it.
"""

from __future__ import annotations

import pytest

#: A busy machine spoils a few measurements; more failures than these have another cause.
MOST_RETRIES = 3


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.config.pluginmanager.hasplugin("rerunfailures") and item.get_closest_marker(
            "real_time"
        ):
            item.add_marker(pytest.mark.flaky(reruns=1))


def _retried(config: pytest.Config) -> list[str]:
    reporter = config.pluginmanager.get_plugin("terminalreporter")
    return [report.nodeid for report in reporter.stats.get("rerun", ())] if reporter else []


@pytest.hookimpl(tryfirst=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    if not hasattr(session.config, "workerinput") and len(_retried(session.config)) > MOST_RETRIES:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    retried = _retried(terminalreporter.config)
    if not retried:
        return
    terminalreporter.section("retries")
    for nodeid in retried:
        terminalreporter.line(f"retried: {nodeid}")
    failed = f": more than {MOST_RETRIES} fail the run" if len(retried) > MOST_RETRIES else ""
    terminalreporter.line(f"{len(retried)} retries of tests in real time{failed}")
