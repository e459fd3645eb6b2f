"""Exact function times: what `--functions exact` (cProfile) leaves in the capture."""

from __future__ import annotations

import cProfile
import os
import pstats
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hotloop.capture.schema import ExactFunction
from hotloop.measure.core import Core, native_parts

#: By cumulative time; the .prof file next to the capture has all of them.
MOST_FUNCTIONS = 200


_OWN_FOLDER = str(Path(__file__).resolve().parents[1]) + os.sep


def _is_own(file: str, function: str) -> bool:
    """hotloop's own code around the program, in Python or in C (which has no file)."""
    return file.startswith(_OWN_FOLDER) or (file == "~" and "hotloop." in function)


def start_exact(core: Core) -> cProfile.Profile:
    """A running profile of the calling thread.

    Since Python 3.12 cProfile is called for every thread but keeps one stack, so times of threads
    that take turns end up in each other's functions. Its callbacks are looked up on the instance:
    there they are limited to this thread.
    """
    profile = cProfile.Profile()
    native = native_parts(core)
    limit = native.OneThread if native is not None else _one_thread
    for event in ("pystart", "pyreturn", "pythrow", "ccall", "creturn"):
        callback = getattr(profile, f"_{event}_callback", None)
        if callback is not None:
            setattr(profile, f"_{event}_callback", limit(callback))
    profile.enable()
    return profile


def _one_thread(callback: Callable[..., object]) -> Callable[..., object]:
    own = threading.get_ident()

    def limited(*event: object) -> object:
        return callback(*event) if threading.get_ident() == own else None

    return limited


def exact_functions(profile: Any) -> list[dict[str, Any]]:
    """The functions with the most cumulative time, as rows."""
    stats = pstats.Stats(profile).stats  # type: ignore[attr-defined]
    rows = [
        {
            ExactFunction.file: file,
            ExactFunction.line: line,
            ExactFunction.function: function,
            ExactFunction.calls: calls,
            ExactFunction.self_s: self_s,
            ExactFunction.total_s: total_s,
        }
        for (file, line, function), (_, calls, self_s, total_s, _) in stats.items()
        if not _is_own(file, function)
    ]
    rows.sort(key=lambda row: -row[ExactFunction.total_s])
    return rows[:MOST_FUNCTIONS]
