"""Chooses the region clock: the native one, or its Python twin where that could not be built."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.measure.twin import Core, Sampler

    NATIVE: bool
    WHY_TWIN: str | None
else:
    WHY_TWIN = None
    if os.environ.get("HOTLOOP_PURE", "") not in ("", "0"):
        WHY_TWIN = "HOTLOOP_PURE is set"
    else:
        try:
            from hotloop.measure._native import Core, Sampler
        except ImportError as error:
            WHY_TWIN = f"the native core is not there ({error})"
    if WHY_TWIN is not None:
        from hotloop.measure.twin import Core, Sampler
    NATIVE = WHY_TWIN is None

__all__ = ["NATIVE", "WHY_TWIN", "Core", "Sampler", "native_parts"]


def native_parts(core: Any) -> Any:
    """The native module of a core, which has parts of the hooks as well; None for the twin."""
    if not type(core).__module__.endswith("_native"):
        return None
    from hotloop.measure import _native  # type: ignore[attr-defined]

    return _native
