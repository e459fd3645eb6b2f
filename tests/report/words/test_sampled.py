"""Sampled functions in words."""

from __future__ import annotations

import os
from pathlib import Path

from analyses import make_analysis, phase

from hotloop.analyze.model import Caller, Function
from hotloop.report.words.sampled import callers_words, short_lines, unchanged_line


def test_lines_without_the_folders_above() -> None:
    place = os.path.join("", "home", "me", "project", "train.py")
    shown = short_lines(f"{place}:10-14 Agent.learn")
    assert shown == f"{os.path.join('project', 'train.py')}:10-14 Agent.learn"


def test_a_line_is_shown_only_if_the_file_is_as_it_was(tmp_path: Path) -> None:
    file = tmp_path / "train.py"
    file.write_text("import gym\n    loss.backward()  # the slow one\n")
    changed = file.stat().st_mtime
    later = make_analysis(phase("learn", 1.0), header={"started": changed + 10})
    earlier = make_analysis(phase("learn", 1.0), header={"started": changed - 10})
    unknown = make_analysis(phase("learn", 1.0), header={})
    assert unchanged_line(later, str(file), 2) == "loss.backward()  # the slow one"
    assert unchanged_line(earlier, str(file), 2) == ""
    assert unchanged_line(unknown, str(file), 2) == ""
    assert unchanged_line(later, str(tmp_path / "gone.py"), 2) == ""


def test_the_program_lines_that_led_to_a_library_function() -> None:
    file = os.path.join("", "p", "a.py")
    wait = Function("", "/lib/t.py", "wait", 1, "main", 4.0, 4.0, 0.4, 80, 0.0, 0.0, 1.0, False)
    assert callers_words(wait) == ""
    wait.from_file, wait.from_line, wait.callers = file, 24, (Caller(file, 24, 1.0),)
    one = callers_words(wait)
    assert one.startswith("from ")
    assert one.endswith("a.py:24")
    wait.callers = (Caller(file, 24, 0.5), Caller(file, 30, 0.3), Caller(file, 9, 0.2))
    assert callers_words(wait) == f"{one} and 2 more lines"
