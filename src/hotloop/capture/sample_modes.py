"""The modes of sampled threads in a capture, numbered as in `measure/native/threadstate.h`."""

from __future__ import annotations

#: WAITING has no known reason; UNKNOWN runs, in Python or in native code.
(
    MODE_PYTHON,
    MODE_NATIVE,
    MODE_WAITING,
    MODE_UNKNOWN,
    MODE_WAITING_LOCK,
    MODE_WAITING_CORE,
    MODE_WAITING_IO,
    MODE_SLEEPING,
) = range(8)
