"""hotloop from inside other tools: callbacks, notebooks, pytest, learning curves.

    from hotloop.integrations import record, SB3Callback, KerasCallback

`recording` measures part of a program that continues afterwards; callbacks, notebooks and the
pytest plugin (with `marked_test` and `baseline`) are thin layers over it. `scalars` writes phase
times next to the program's own learning curves, and `profiler_reports` reports a profiler without a
capture. A library is imported only when its integration is used. Imports nothing of `cli`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.integrations.keras import KerasCallback
    from hotloop.integrations.recording import Recording, record
    from hotloop.integrations.sb3 import SB3Callback

__all__ = ["KerasCallback", "Recording", "SB3Callback", "record"]

#: The class that a session loads to write figures next to the program's own curves.
SCALARS = f"{__name__}.scalars:Scalars"

#: Name -> the file of this folder that it lives in.
_HOMES = {
    "KerasCallback": "keras",
    "Recording": "recording",
    "SB3Callback": "sb3",
    "record": "recording",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
