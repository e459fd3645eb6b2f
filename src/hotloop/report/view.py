"""Which part of a report to show: what the options of `hotloop report` select."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hotloop.analyze.model import Phase

#: The values of `--sort`, and how each orders the phases of one level.
SORTS: dict[str, Callable[[Phase], float]] = {
    "total": lambda p: -p.loop_s,
    "self": lambda p: -p.loop_self_s,
    "calls": lambda p: -p.calls,
    "mean": lambda p: -p.mean_s,
    "max": lambda p: -p.max_s,
    "score": lambda p: -p.score,
}


@dataclass(frozen=True)
class View:
    """Which part of an analysis to show."""

    sort: str = "total"
    top: int = 10
    depth: int | None = None
    process: str = "main"


#: The default view.
DEFAULT_VIEW = View()
