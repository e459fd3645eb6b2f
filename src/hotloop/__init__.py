"""hotloop: where your RL training time goes, why, and what to change.

    hotloop run train.py            # profiles a program as it is

    from hotloop import profile     # adds your own regions to the phases it finds
    with profile("features"):
        ...

Without `hotloop run` (or `get_profiler().enable()`) a region costs almost nothing.

PYTEST_DONT_REWRITE: `hotloop run -m pytest` imports this before pytest, which would warn otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hotloop.measure.profiler import F, Profiler, Reports
from hotloop.measure.shared import get_profiler

__version__ = "0.1.0"

__all__ = ["Profiler", "count", "get_profiler", "profile", "profile_function", "step"]

_profiler = get_profiler()

#: `with profile(name, category=None, track_memory=False):`
profile = _profiler.profile

#: `count(name, n=1)`: add to a counter.
count = _profiler.count

#: `step()`: an iteration of the training loop has ended.
step = _profiler.step


def profile_function(
    name: str | None = None, category: str | None = None, track_memory: bool = False
) -> Callable[[F], F]:
    """Decorator: time every call of a function, a coroutine function or a generator."""
    return _profiler.profile_function(name, category, track_memory)


def load_ipython_extension(shell: Any) -> None:
    """`%load_ext hotloop`, in a notebook."""
    from hotloop.integrations.notebook import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """`%unload_ext hotloop`."""
    from hotloop.integrations.notebook import unload

    unload(shell)


def _reports() -> Reports:
    from hotloop.integrations import profiler_reports

    return profiler_reports


Profiler.reports = staticmethod(_reports)
