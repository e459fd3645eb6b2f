"""Processes of one kind: those whose names differ only in their number."""

from __future__ import annotations

import re

from hotloop.analyze.model import Analysis

_NUMBER = re.compile(r"[-_: ]*\d+$")


def group_of(process: str) -> str:
    """The kind of a process: its name without its number."""
    return _NUMBER.sub("", process) or process


def groups(analysis: Analysis) -> dict[str, list[str]]:
    """Label -> names of processes of one kind: `EnvWorker (64)`."""
    kinds: dict[str, list[str]] = {}
    for process in analysis.processes:
        if process.name != "main":
            kinds.setdefault(group_of(process.name), []).append(process.name)
    named = {
        names[0] if len(names) == 1 else f"{kind} ({len(names)})": names
        for kind, names in kinds.items()
    }
    return {"main": ["main"], **named}
