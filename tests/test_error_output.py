"""Lines of hotloop's own leave nothing behind that Python would fail to write when it exits."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from hotloop.error_output import write_line


def test_a_line_follows_what_the_program_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with (tmp_path / "errors").open("w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "__stderr__", stream)
        stream.write("the program's, ")
        write_line(stream, "hotloop: né \udcff")
    assert (tmp_path / "errors").read_bytes() == "the program's, hotloop: né \\udcff\n".encode()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is full")
def test_what_cannot_be_written_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    with open("/dev/full", "w") as stream:
        monkeypatch.setattr(sys, "__stderr__", stream)
        write_line(stream, "hotloop: lost")
        stream.flush()


def test_a_stream_of_the_programs_gets_the_line() -> None:
    stream = io.StringIO()
    write_line(stream, "hotloop: shown")
    write_line(None, "hotloop: nowhere")
    assert stream.getvalue() == "hotloop: shown\n"
    stream.close()
    write_line(stream, "hotloop: closed")
