"""The loop across processes, as rows to show."""

from __future__ import annotations

from analyses import Make

from hotloop.analyze.model import RunRow
from hotloop.report.console.run_table import line_of, run_table_text, shown_rows, who
from hotloop.report.console.terminal import Style

OWN = RunRow("learn", "main", 1, "computing", 5.0, 0.5)
STEPS = RunRow("env.step", "EnvWorker", 8, "computing", 4.0, 0.4, "/p/env.py", 7, "step")


def test_a_loop_that_hardly_waits_has_no_table(make: Make) -> None:
    seen = make()
    seen.run_table = [OWN, RunRow("env.step", "EnvWorker", 8, "computing", 0.1, 0.01)]
    assert shown_rows(seen) == []
    assert run_table_text(seen, Style()) == ""


def test_rows_name_their_processes_and_lines(make: Make) -> None:
    seen = make(notes={"trains_in": "trainer"})
    seen.run_table = [OWN, STEPS, RunRow("log", "main", 1, "computing", 0.01, 0.001)]
    assert shown_rows(seen) == [OWN, STEPS]
    assert (who(seen, OWN), who(seen, STEPS)) == ("trainer", "EnvWorker x8")
    assert (line_of(OWN), line_of(STEPS)) == ("", "p/env.py:7")
    lines = run_table_text(seen, Style(80)).splitlines()
    assert len(lines) == 3
    assert all(len(line) <= 80 for line in lines)
