"""Source lines of the program that make expensive calls."""

from __future__ import annotations

from hotloop.hooks.telemetry.calling_lines import CallingLines, calling_line


def test_lines_are_looked_up_rarely() -> None:
    lines = CallingLines()
    for _ in range(1000):
        lines.note("x")
    ((file, _, function),) = lines.notes()["x"]
    assert (file, function) == (__file__, "test_lines_are_looked_up_rarely")


def test_a_line_is_the_programs_not_a_librarys() -> None:
    found = next(iter(map(lambda _: calling_line(), [1])))  # noqa: C417
    assert found is not None
    assert found[0] == __file__
