"""The profiler that `hotloop.profile`, `hotloop.count` and a run share: one per process."""

from __future__ import annotations

from hotloop.measure.profiler import Profiler

_profiler = Profiler(shared=True)


def get_profiler() -> Profiler:
    """The profiler that `profile`, `count` and `hotloop run` share."""
    return _profiler
