"""Examples of logging less, in the terms of what the program logs with."""

from __future__ import annotations

from dataclasses import replace

import pytest
from analyses import frame, sample

from hotloop.capture.schema import SourceLine
from hotloop.diagnose.rules.storage.less_logging import least_of_logging, logging_example


@pytest.mark.parametrize(
    ("file", "called", "shown"),
    [
        ("/venv/site-packages/tensorboard/summary/writer.py", "", "writer.add_scalar"),
        ("/venv/site-packages/wandb/sdk/run.py", "", "wandb.log"),
        ("/usr/lib/python3.11/sqlite3/dbapi2.py", "", "executemany"),
        ("", "db.commit", "executemany"),
        ("", "log.debug", "isEnabledFor"),
        ("", "protokoll.debug", "isEnabledFor"),
        ("", "os.fsync", "writelines"),
        ("", "print", "print(step"),
        ("", "out.write", "writelines"),
    ],
)
def test_the_example_fits_what_logs(file: str, called: str, shown: str) -> None:
    files = [(file, "f")] if file else []
    fix, before, after = logging_example(files, frozenset([called] if called else []))
    assert shown in after
    assert before != after
    assert fix.startswith("Log every hundred steps")


def test_what_a_disk_takes_for_a_large_write_stays() -> None:
    line = frame("Market.step", line=40)
    formats = sample("env.step", 4.0, line)
    writes = replace(formats, waiting=True)
    lines = [SourceLine(line.file, 40, line.function)]
    assert least_of_logging([formats], lines) > least_of_logging([formats, writes], lines)
    assert least_of_logging([], lines) == least_of_logging([writes], lines)
