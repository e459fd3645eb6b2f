"""The settings of a run, and how they reach its child processes."""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from hotloop.run.recorder import WINDOW_SECONDS

#: The variable in which a child process finds the run that it belongs to.
ENVIRONMENT = "HOTLOOP_SESSION"

#: The folder whose `sitecustomize` lets it join.
BOOTSTRAP = Path(__file__).resolve().parent.parent / "bootstrap"


@dataclass(frozen=True)
class Settings:
    """The settings of a run; its child processes use the same."""

    folder: str
    functions: str = "samples"
    phases: list[str] = field(default_factory=list)
    quiet: bool = False
    #: Phases of the main process to skip, to slow down or to run less often; see `hooks/alter.py`.
    skip: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    every: list[str] = field(default_factory=list)
    #: Run-time fixes to apply in every process; see `hooks/fixes`.
    fixes: list[str] = field(default_factory=list)
    #: Whether to record a digest of the weights when the run ends.
    weights: bool = False
    #: How many single calls to keep for a trace.
    trace: int = 0
    #: The writer of figures next to the program's own curves, as `module:class`; empty for none.
    scalars: str = ""
    window_s: float = WINDOW_SECONDS
    #: How much of a device's activity to record: off, windows or full.
    gpu: str = "windows"
    #: Whether to measure every call, rather than stretches after the first half minute.
    every_call: bool = False
    #: How long to measure every call before that; 0 for half a minute.
    every_call_s: float = 0.0
    #: The capture's folder, if this machine cannot reach it; `folder` is then a local one.
    away_from: str = ""

    def environment(self) -> dict[str, str]:
        """The variables with which a child process joins the run."""
        bootstrap = str(BOOTSTRAP)
        paths = os.environ.get("PYTHONPATH", "").split(os.pathsep)
        others = [path for path in paths if path and path != bootstrap]
        return {
            ENVIRONMENT: json.dumps(asdict(self)),
            "PYTHONPATH": os.pathsep.join([bootstrap, *others]),
        }

    @classmethod
    def from_environment(cls) -> Settings:
        """The settings of the run that this process belongs to."""
        known = {each.name for each in fields(cls)}
        saved = json.loads(os.environ[ENVIRONMENT])
        return cls(**{key: value for key, value in saved.items() if key in known})


class Invitation:
    """The variables in this process's environment by which its children join."""

    def __init__(self) -> None:
        self._before: dict[str, str | None] = {}

    def put(self, settings: Settings) -> None:
        variables = settings.environment()
        self._before = {name: os.environ.get(name) for name in variables}
        os.environ.update(variables)

    def remove(self) -> None:
        """Restore the previous values of the variables."""
        for name, value in self._before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
