"""hotloop's own lines, between the program's output and never instead of it."""

from __future__ import annotations

import io
import sys
import types
from typing import Any

import pytest

from hotloop.run.messages import notify


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Closed(io.StringIO):
    """A pipe whose reader is gone."""

    def write(self, text: str) -> int:
        raise BrokenPipeError


def test_a_line_goes_to_standard_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    notify("wrote report.html")
    assert stream.getvalue() == "hotloop: wrote report.html\n"


@pytest.mark.parametrize("removed", [True, False])
def test_where_the_program_closed_or_removed_it(
    monkeypatch: pytest.MonkeyPatch, removed: bool
) -> None:
    closed = io.StringIO()
    closed.close()
    monkeypatch.setattr(sys, "stderr", None if removed else closed)
    monkeypatch.setattr(sys, "__stderr__", stream := io.StringIO())
    notify("done")
    assert stream.getvalue() == "hotloop: done\n"


def test_a_broken_pipe_is_not_the_programs_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := Closed())
    notify("done")
    assert stream.getvalue() == ""


def test_progress_bars_stay_below_it(monkeypatch: pytest.MonkeyPatch) -> None:
    tqdm = pytest.importorskip("tqdm")
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    with tqdm.tqdm(total=10, file=stream, mininterval=0) as bar:
        bar.update(3)
        notify("saved")
        shown = stream.getvalue()
    # The bar is cleared before the line, and drawn again after it.
    before, _, after = shown.partition("hotloop: saved\n")
    assert before.rstrip(" ").endswith("\r")
    assert "3/10" in after


def test_another_interface_of_tqdm(monkeypatch: pytest.MonkeyPatch) -> None:
    def write(*_: object, **__: object) -> None:
        raise TypeError

    other: Any = types.ModuleType("tqdm.std")
    other.tqdm = types.SimpleNamespace(_instances=[object()], write=write)
    monkeypatch.setitem(sys.modules, "tqdm.std", other)
    monkeypatch.setattr(sys, "stderr", stream := Terminal())
    notify("saved")
    assert stream.getvalue() == "hotloop: saved\n"
