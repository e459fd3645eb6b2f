"""A minimal region clock in pure Python, used if nothing could be compiled (or HOTLOOP_PURE=1).

Regions, counters and windows are the same as in the native core; `native/core.c` describes how time
is charged, and one test suite runs over both. The twin is slower, infers no phases, separates tasks
by asyncio's current task rather than by contextvars context, and its sampler is a Python thread,
which oversamples lines that release the GIL.
"""

from hotloop.measure.twin.core import Core
from hotloop.measure.twin.region import Region
from hotloop.measure.twin.sampler import Sampler

__all__ = ["Core", "Region", "Sampler"]
