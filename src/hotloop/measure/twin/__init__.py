"""A minimal region clock in pure Python, for where nothing could be compiled (or HOTLOOP_PURE=1).

Regions, counters and windows are those of the native core; `native/core.c` says how time is
charged, and one test suite runs over both. What differs: it is slower, infers no phases, separates
tasks by asyncio's current task rather than by contextvars context, and its sampler is a Python
thread, which sees lines that release the GIL more often than lines that hold it.
"""

from hotloop.measure.twin.core import Core
from hotloop.measure.twin.region import Region
from hotloop.measure.twin.sampler import Sampler

__all__ = ["Core", "Region", "Sampler"]
