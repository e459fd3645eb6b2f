"""Whether the hooks of a library reach every target and leave nothing behind."""

from __future__ import annotations

from pathlib import Path

from profiling import Profile

PROGRAM = Path(__file__).parents[1] / "hooks" / "library_programs" / "take_off.py"


def check_hooks_come_off(
    profile: Profile, table: str, package: str, modules: str, not_hooked: int = 0
) -> None:
    """`modules`, joined by commas, are imported before the table of `package` is installed."""
    out = profile(PROGRAM, table, package, modules, hotloop=False).out.splitlines()
    assert {"failures {}", "missing []", "changed []"} <= set(out)
    (hooked,) = (line.split() for line in out if line.startswith("hooked "))
    assert int(hooked[3]) - int(hooked[1]) == not_hooked
