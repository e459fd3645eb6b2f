"""Hides hotloop's reads from torch's function modes and from the program's classes of tensors.

What a hook reads of a tensor (its shape, its type, a reward) would be one more call of
`__torch_function__`, which may count, change or refuse it.
"""

from __future__ import annotations

import sys
from typing import Any

from hotloop.hooks.context import HookContext
from hotloop.measure.core import native_parts


class TorchFunctionCompatibility:
    """Lets hotloop's own code run without them once torch is imported."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._hidden = False

    def imported(self, name: str) -> None:
        """Called when a module has been imported."""
        if name != "torch" or self._hidden:
            return
        native: Any = native_parts(self._context.profiler.core)
        made = getattr(getattr(sys.modules["torch"], "_C", None), "DisableTorchFunction", None)
        if native is None or not isinstance(made, type):
            return
        self._hidden = True
        native.hide_from_torch(made)
        self._context.undo.append(lambda: native.hide_from_torch(None))
