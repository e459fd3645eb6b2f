"""The native core's twin in pure Python: the same interface, the same answers, more nanoseconds.

Used where nothing could be compiled, or with HOTLOOP_PURE=1. `native/core.c` says how time is
charged; one test suite runs over both. Two things differ, and are documented: tasks are told apart
by asyncio's current task rather than by contextvars context, and the sampler is a Python thread,
which sees lines that release the GIL more often than lines that hold it.
"""

from hotloop.measure.twin.core import Core
from hotloop.measure.twin.region import Region
from hotloop.measure.twin.sampler import Sampler

__all__ = ["Core", "Region", "Sampler"]
