"""Examples of logging less, in the terms of what the program logs with."""

from __future__ import annotations

import pytest

from hotloop.diagnose.writing import logging_example


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
