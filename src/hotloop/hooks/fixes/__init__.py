"""Run-time fixes: changes that `hotloop prove` tries without an edit of the program.

    hotloop run --fix threads=1 --fix flush-denormals train.py

A fix waits for the module that it changes and replaces one call of it, in every process of the
run. It counts how often it took effect, and the capture records that count: a fix that never took
effect says nothing about the program. What each may do to learning is declared where `prove`
chooses it (`experiment/fixes.py`).
"""

from __future__ import annotations

from hotloop.hooks.fixes.runtime import Fixes, RuntimeFix, check

__all__ = ["Fixes", "RuntimeFix", "check"]
