"""The program's own functions as phases, without an edit.

    hotloop run --phase data=data_fetcher:load_prices train.py
    hotloop run --phase features=technical_analyzer:TechnicalAnalyzer.* train.py

    [tool.hotloop.phases]            # in pyproject.toml
    data = "data_fetcher:load_prices"
    features = ["technical_analyzer:TechnicalAnalyzer.*"]

A pattern is `phase=module:name`. `*` and `?` stand for any letters; a class alone stands for all
its methods; the script itself is `__main__`, or its file's name. `attaching` skips functions that
are named here, so this is how to correct a wrong guess. The phase `none` means: no phase at all.
"""

from __future__ import annotations

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path
from types import ModuleType
from typing import Any
from weakref import WeakSet

from hotloop.capture.schema import Notes
from hotloop.errors import HotloopError
from hotloop.hooks.install import Hooks
from hotloop.hooks.protocols import Function
from hotloop.hooks.redirect import (
    function_behind,
    function_in,
    is_awaited,
    is_really,
    raw_attribute,
    redirect,
    time_as,
)
from hotloop.measure.profiler import Profiler

#: Means that a function has no phase, whatever its shape.
NOT_A_PHASE = "none"

_PART = r"[A-Za-z_*?][\w*?]*"
_PATTERN = re.compile(
    rf"(?P<phase>[^\s=:]+)=(?P<module>{_PART}(?:\.{_PART})*):(?P<name>{_PART}(?:\.{_PART})*)"
)


@dataclass(frozen=True)
class Pattern:
    """One `phase=module:name`."""

    phase: str
    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.phase}={self.module}:{self.name}"

    @property
    def is_exact(self) -> bool:
        return "*" not in self.name and "?" not in self.name


def parse_phase(text: str) -> Pattern:
    """The pattern as the user wrote it; an error message comes with an example."""
    match = _PATTERN.fullmatch(text.strip())
    if match is None:
        raise HotloopError(
            f"--phase {text}: needs phase=module:function, such as "
            "data=data_fetcher:load_prices or features=analyzer:Analyzer.*"
        )
    return Pattern(**match.groupdict())


def phases_of_project(folder: Path) -> list[str]:
    """The patterns of the nearest pyproject.toml at or above a folder."""
    for above in (folder, *folder.parents):
        file = above / "pyproject.toml"
        if file.is_file():
            return _phases_of(file)
    return []


def _phases_of(file: Path) -> list[str]:
    try:
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return []
    if "tool.hotloop.phases" not in text:
        return []
    try:
        toml: Any = importlib.import_module("tomllib" if sys.version_info >= (3, 11) else "tomli")
    except ImportError:
        raise HotloopError(
            f"{file}: [tool.hotloop.phases] needs Python 3.11 or tomli; use --phase instead"
        ) from None
    try:
        tool = toml.loads(text).get("tool", {})
    except ValueError as error:
        raise HotloopError(f"{file}: {error}") from None
    section = tool.get("hotloop") if isinstance(tool, dict) else None
    phases = section.get("phases", {}) if isinstance(section, dict) else {}
    if not isinstance(phases, dict):
        raise HotloopError(
            f'{file}: [tool.hotloop.phases] must be a table: data = "module:function"'
        )
    found = []
    for phase, names in phases.items():
        for name in names if isinstance(names, list) else [names]:
            try:
                found.append(str(parse_phase(f"{phase}={name}")))
            except HotloopError as error:
                raise HotloopError(f"{file}: {error}") from None
    return found


class NamedPhases:
    """Times the named functions as their phases when their modules are imported."""

    def __init__(self, hooks: Hooks, profiler: Profiler, patterns: list[str]) -> None:
        self._hooks = hooks
        self._profiler = profiler
        self._patterns = [parse_phase(pattern) for pattern in patterns]
        #: Pattern -> how many functions it has matched.
        self.matched: dict[str, int] = {str(pattern): 0 for pattern in self._patterns}
        #: Functions that a pattern has named.
        self._taken: WeakSet[Function] = WeakSet()

    def notes(self) -> dict[str, Any]:
        """The notes on named phases."""
        return {Notes.named_phases: dict(self.matched)} if self.matched else {}

    def has(self, function: object) -> bool:
        """Whether a pattern has named this function."""
        return function in self._taken

    def inspect(self, name: str) -> None:
        """Hook the named functions of a module that has been imported."""
        if not self._patterns:
            return
        module = sys.modules.get(name)
        if not is_really(module, ModuleType):
            return
        for pattern in self._patterns:
            if any(fnmatchcase(known, pattern.module) for known in names_of(module, name)):
                for owner, attribute, raw in list(_matches(module, pattern)):
                    self._put(pattern, owner, attribute, raw)

    def _put(self, pattern: Pattern, owner: object, name: str, raw: object) -> None:
        function = _known(raw)
        if function is not None and function in self._taken:
            return  # an earlier pattern has it; the first one counts
        if function is not None:
            self._taken.add(function)
        self.matched[str(pattern)] += 1
        if pattern.phase == NOT_A_PHASE:
            return

        def make(original: Function) -> Function:
            if is_awaited(original) or inspect.isgeneratorfunction(original):
                # It counts while it runs, not while its consumer does.
                return self._profiler.profile_function(pattern.phase)(original)
            return time_as(self._hooks.context, original, (pattern.phase,))

        self._hooks.undo(redirect(self._profiler.core, owner, name, make))
        placed = _known(raw_attribute(owner, name))
        if placed is not None:
            self._taken.add(placed)


def names_of(module: ModuleType, name: str) -> list[str]:
    """The names of a module; the script is also known by its file."""
    if name not in ("__main__", "__mp_main__"):
        return [name]
    file = getattr(module, "__file__", None)
    return ["__main__", Path(file).stem] if file else ["__main__"]


def _matches(module: ModuleType, pattern: Pattern) -> Iterator[tuple[Any, str, Any]]:
    """(owner, attribute, value) of everything that a pattern names in a module."""
    first, *rest = pattern.name.split(".")
    for name, value in list(vars(module).items()):
        if not _fits(name, first):
            continue
        # A wildcard matches the module's own definitions; a full name is taken literally.
        own = getattr(value, "__module__", None) == module.__name__
        if not own and not pattern.is_exact:
            continue
        if is_really(value, type):
            yield from _methods(value, ".".join(rest) or "*", pattern.is_exact and bool(rest))
        elif inspect.isroutine(value) and not rest:
            yield module, name, value


def _methods(cls: type, name: str, exact: bool) -> Iterator[tuple[Any, str, Any]]:
    # A method that is named in full may be inherited; a wildcard means the class's own.
    for owner in cls.__mro__ if exact else (cls,):
        found = [(method, raw) for method, raw in vars(owner).items() if _fits(method, name)]
        for method, raw in found:
            if _known(raw) is not None:
                yield owner, method, raw
        if found:
            return


def _known(raw: Any) -> Function | None:
    """The function in an attribute, plain or compiled; None if it is something else."""
    return function_in(raw) if function_behind(raw) is not None else None


def _fits(name: str, pattern: str) -> bool:
    if name.startswith("__") and name != pattern:
        return False  # `Class.*` does not mean __len__ and __getattr__
    return fnmatchcase(name, pattern)
