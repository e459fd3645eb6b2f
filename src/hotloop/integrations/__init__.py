"""Where people already are: other ways in than the command line.

    from hotloop.integrations import record, SB3Callback, KerasCallback

`recording` measures a stretch of a program that goes on afterwards; callbacks, notebooks and the
pytest plugin are thin layers over it. `scalars` puts figures beside the program's own learning
curves, `completion` knows the shells. This folder may use both halves of hotloop, as `cli` does;
a library is imported when its integration is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.integrations.recording import Recording, record

__all__ = ["Recording", "record"]

#: Name -> the file of this folder that it lives in.
_HOMES = {"Recording": "recording", "record": "recording"}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
