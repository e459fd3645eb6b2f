"""The instructions of a code object, decoded once for everyone who reads them.

Decoding a script's module takes milliseconds, which would be spent inside the training loop.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType

#: Number of code objects to keep decoded: the training loop and its functions, not all of them.
_MOST_DECODED = 64


@functools.lru_cache(maxsize=_MOST_DECODED)
def instructions(code: CodeType) -> tuple[dis.Instruction, ...]:
    """The instructions, each with the meaning of its argument."""
    return tuple(dis.get_instructions(code))


@functools.lru_cache(maxsize=_MOST_DECODED)
def line_at(code: CodeType) -> dict[int, int]:
    """Offset -> line of each instruction that has one."""
    return {
        offset: line
        for first, last, line in code.co_lines()
        if line
        for offset in range(first, last, 2)
    }
