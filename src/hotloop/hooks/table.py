"""What a library's table is made of."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

#: Called with (result, *args, **kwargs) of the hooked function after it returned, outside the
#: region: counts rows, episodes, bytes. If it raises it is switched off and reported.
Note = Callable[..., object]

#: Called with the original function; returns what stands in its place. For the few places where
#: a plain region does not do (the phase depends on the moment, `torch.compile` looks inside).
Wrapper = Callable[[Callable[..., Any]], Callable[..., Any]]


@dataclass(frozen=True)
class Place:
    """One function or method of a library, and the phase that it is."""

    module: str
    name: str
    phase: str
    #: What else to note of each call.
    after: Note | None = None
    #: A call inside the same phase is not timed again (wrappers that call what they wrap).
    outermost: bool = False
    #: Also every override of this method in subclasses, the program's own included.
    overrides: bool = False
    #: And not the method itself, which takes less than a region would or is seen elsewhere.
    only_overrides: bool = False
    #: Instead of a plain region.
    wrapper: Wrapper | None = None
    #: Some versions of the library do not have it; that is not worth a word.
    optional: bool = False

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True)
class Library:
    """One library: how people call it, where its version is found, and its places."""

    title: str
    distribution: str
    places: tuple[Place, ...] = field(default_factory=tuple)
    #: Called once the library's top-level package has been imported, for hooks that are not
    #: places (a registration that the library itself offers). Returns what takes it off again.
    setup: Callable[[], Callable[[], None] | None] | None = None
    #: What a reader of the report must know of this run, asked for as each window closes.
    remarks: Callable[[], list[str]] | None = None
