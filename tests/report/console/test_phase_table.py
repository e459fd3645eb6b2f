"""The tree of phases on a terminal."""

from __future__ import annotations

from copy import copy

from small_analyses import analysis

from hotloop.report.console.phase_table import phase_table, summary_table
from hotloop.report.console.terminal import Style
from hotloop.report.console.text import text_report
from hotloop.report.document import make_report
from hotloop.report.view import View


def test_depth_sort_and_process() -> None:
    deep = text_report(make_report(analysis(), []), Style(), View(depth=1))
    assert "env.step" not in deep.split("Where the")[1].split("Hot functions")[0]
    by_calls = text_report(make_report(analysis(), []), Style(), View(sort="calls", process="all"))
    assert "main" in by_calls


def test_rows_are_nested_and_add_up_to_the_loop() -> None:
    lines = phase_table(analysis(), Style(100), View()).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        *("collect", "env.step", "(collect", "learn", "(in"),
    ]
    assert "60.0%" in lines[2]
    assert "10.0%" in lines[3]


def test_a_thread_that_only_waits_takes_no_time_of_the_loop() -> None:
    """Such as the writer of event files, which is idle nearly always."""
    seen = analysis()
    first = seen.phases[0]
    for name in ("wait", "log"):
        other = copy(first)
        other.path, other.name, other.thread = f"@thread-1/{name}", name, "thread-1"
        seen.phases.append(other)
    table = phase_table(seen, Style(100), View())
    assert "wait [thread-1]" not in table
    assert "log [thread-1]" in table


def test_what_another_thread_waits_in_its_own_phase_is_shown() -> None:
    """Otherwise all of the phase would look like work."""
    seen = analysis()
    for path in ("@thread-1/data", "@thread-1/data/wait"):
        other = copy(seen.phases[0])
        other.path, other.name, other.thread = path, path.rpartition("/")[2], "thread-1"
        seen.phases.append(other)
    assert "wait [thread-1]" in phase_table(seen, Style(100), View())


def test_how_a_phase_is_known_gives_way_to_its_name() -> None:
    seen = analysis()
    seen.phases[0].how = "inferred"
    assert "collect (inferred)" in phase_table(seen, Style(100), View())
    seen.phases[0].name = "a" * 33
    assert "(inferred)" not in phase_table(seen, Style(80), View())


def test_the_summary_has_memory_where_it_is_known() -> None:
    lines = summary_table(analysis(), top=2).splitlines()
    assert len(lines) == 3
    assert lines[0].split()[-4:] == ["CPU", "peak", "GPU", "peak"]
    assert "500 MB" in lines[2]
    assert lines[1].split()[-2:] != ["500", "MB"]
