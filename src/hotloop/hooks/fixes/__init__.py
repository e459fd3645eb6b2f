"""Run-time fixes: changes that `hotloop prove` tries without an edit of the program.

    hotloop run --fix threads=1 --fix flush-denormals train.py

A fix waits for the module that it changes and replaces one call of it, in every process of the run.
The capture records how often it took effect: a fix that never took effect says nothing about the
program. Its possible effect on learning is declared in `experiment/fixes.py`, where `prove` chooses
it.
"""

from __future__ import annotations

from hotloop.hooks.fixes.runtime import Fixes, RuntimeFix, check

__all__ = ["Fixes", "RuntimeFix", "check"]
