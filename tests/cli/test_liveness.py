"""Processes that run, have ended, or cannot be known from here."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

from hotloop.cli.liveness import is_running

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signal 0 means Ctrl-C there")


def test_a_process_runs_until_it_has_ended_reaped_or_not() -> None:
    host = platform.node()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    assert is_running(child.pid, host)
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # ended, and a zombie from now on
    if sys.platform == "linux":
        assert is_running(child.pid, host) is False
    child.communicate()
    assert is_running(child.pid, host) is False


@pytest.mark.parametrize(("pid", "host"), [(None, platform.node()), (1, "another-host"), (1, None)])
def test_what_cannot_be_known(pid: int | None, host: str | None) -> None:
    assert is_running(pid, host) is None
