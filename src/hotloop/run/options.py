"""What the options of a run mean, checked before anything runs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from hotloop.hooks import alter
from hotloop.hooks.program.named_phases import parse_phase, phases_of_project


def checked_phases(written: Iterable[str]) -> list[str]:
    """The patterns of `--phase`; a `HotloopError` names one that is wrong."""
    return [str(parse_phase(text)) for text in written]


def all_phases(written: Iterable[str], folder: Path) -> list[str]:
    """The patterns of `--phase`, then those of the project: the first that fits counts."""
    return checked_phases(written) + phases_of_project(folder)


def check_alterations(skip: list[str], slow: list[str], every: list[str], fixes: list[str]) -> None:
    """Raise a `HotloopError` for a `--skip`, `--slow`, `--every` or `--fix` that is wrong."""
    alter.check(skip, slow, every)
    if fixes:
        from hotloop.hooks.fixes import check

        check(fixes)
