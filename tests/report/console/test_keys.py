"""Single key presses."""

from __future__ import annotations

import os
import sys
import threading

import pytest

from hotloop.report.console.keys import Keys


def test_a_pipe_has_no_keys() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"q")
    with os.fdopen(reading) as stream, Keys(stream) as keys:
        assert not keys.wait("q", 0.0)
    os.close(writing)


@pytest.mark.skipif(sys.platform == "win32", reason="needs a terminal of POSIX")
def test_a_terminal_passes_a_key_on_without_enter() -> None:
    outer, inner = os.openpty()
    with os.fdopen(inner) as stream, Keys(stream) as keys:
        os.write(outer, b"x")
        assert not keys.wait("q", 0.0)
        typed = threading.Timer(0.0, lambda: os.write(outer, b"q"))
        typed.start()
        assert keys.wait("q", 60.0)
        typed.join()
    os.close(outer)
