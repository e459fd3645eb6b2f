"""The name of an optimizer in the program: the expression whose `step` it calls.

For example, `self.actor_opt.step()` gives `actor_opt`, and `self.critic.optimizer.step()` gives
`critic.optimizer`. The instructions before the call are read once for each optimizer; the frame's
variables are not.
"""

from __future__ import annotations

import dis
import sys
from types import CodeType, FrameType

from hotloop.capture import schema
from hotloop.hooks.program.instructions import instructions

#: Packages between an optimizer and the code that steps it.
_BELOW = ("hotloop", "torch", "accelerate")
#: Frames that are searched for that code.
_DEEPEST = 20
#: Instructions that may be between the name of an optimizer and its `step`.
_PARTS = ("LOAD_ATTR", "LOAD_CONST", "BINARY_SUBSCR", "BINARY_OP", "LOAD_SMALL_INT", "CACHE")


def counters_of(_: object) -> tuple[str, str] | None:
    """The counters of the optimizer that is stepped now: its steps, its learning time."""
    name = _stepped_name()
    return (schema.OPTIMIZER_STEPS + name, schema.OPTIMIZER_NS + name) if name else None


def _stepped_name() -> str:
    frame: FrameType | None = sys._getframe(1)
    for _ in range(_DEEPEST):
        if frame is None:
            return ""
        package = str(frame.f_globals.get("__name__", "")).partition(".")[0]
        if package not in _BELOW:
            return expression_before(frame.f_code, frame.f_lasti)
        frame = frame.f_back
    return ""


def expression_before(code: CodeType, at: int) -> str:
    """What the method `step` that is called at this instruction belongs to; empty if unclear."""
    before = [each for each in instructions(code) if each.offset <= at]
    steps = [i for i, each in enumerate(before) if _loads_step(each)]
    if not steps:
        return ""
    parts: list[str] = []
    for each in reversed(before[: steps[-1]]):
        name = each.argval if isinstance(each.argval, str) else ""
        if each.opname in _PARTS:
            if name and name.isprintable() and each.opname != "BINARY_OP":
                parts.append(name)
            continue
        if each.opname.startswith("LOAD_") and name not in ("", "self"):
            parts.append(name)
        break
    return ".".join(reversed(parts))


def _loads_step(instruction: dis.Instruction) -> bool:
    return instruction.argval == "step" and instruction.opname in ("LOAD_METHOD", "LOAD_ATTR")
