"""What a capture says of the process and the machine that it was made on.

Never environment variables; arguments that look like secrets are masked.
"""

from __future__ import annotations

import os
import re
import sys
import time
from typing import TYPE_CHECKING, Any

from hotloop.measure.core import NATIVE, WHY_TWIN

if TYPE_CHECKING:
    from hotloop.measure.calibrate import Cost
    from hotloop.measure.profiler import Profiler

_MASK = "********"
_SECRET_WORDS = (
    r"(?:pass(?:word|wd|phrase)?|secret|token|auth|credential|(?:api|access|private)[-_]?key)"
)
_SECRET_OPTION = re.compile(rf"^-{{1,2}}[\w.-]*{_SECRET_WORDS}[\w.-]*$", re.IGNORECASE)
_SECRET_SETTING = re.compile(
    rf"^([\w.+-]*{_SECRET_WORDS}[\w.-]*\s*=).+$", re.IGNORECASE | re.DOTALL
)
#: Shapes of keys that are given out: long and without spaces, with a well-known beginning.
_SECRET_SHAPE = re.compile(
    r"(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abp]|hf|AKIA|ASIA|eyJ)[-_A-Za-z0-9.]{16,}"
)
_URL_PASSWORD = re.compile(r"(://[^/\s:@]*:)[^/\s@]+(@)")


def mask_arguments(arguments: list[str]) -> list[str]:
    """The arguments, with what looks like a secret replaced."""
    masked: list[str] = []
    hide_next = False
    for argument in arguments:
        if hide_next and not argument.startswith("-"):
            masked.append(_MASK)
            hide_next = False
            continue
        hide_next = bool(_SECRET_OPTION.match(argument))
        masked.append(mask_text(argument))
    return masked


def mask_text(text: str) -> str:
    """Text, with what looks like a secret replaced."""
    text = _SECRET_SETTING.sub(rf"\g<1>{_MASK}", text)
    text = _SECRET_SHAPE.sub(_MASK, text)
    return _URL_PASSWORD.sub(rf"\g<1>{_MASK}\g<2>", text)


def usable_cores() -> int:
    """Cores that this process may use (affinity, not what the machine has)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def process_header(
    profiler: Profiler,
    role: str,
    command: list[str] | None = None,
    cost: Cost | None = None,
    settings: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The facts of a shard's header."""
    import platform

    from hotloop import __version__

    # Both clocks at the same moment: a window's time since the origin becomes a time of day.
    return {
        "version": __version__,
        "role": role,
        "pid": os.getpid(),
        "parent": os.getppid(),
        "host": platform.node(),
        "command": mask_arguments(command if command is not None else sys.argv),
        "python": platform.python_version(),
        "platform": platform.platform(),
        "machine": platform.machine(),
        "cores": usable_cores(),
        "native": NATIVE,
        "why_twin": WHY_TWIN,
        "started": time.time() - (time.perf_counter_ns() - profiler.origin_ns) / 1e9,
        "origin_ns": profiler.origin_ns,
        "cost": {"inside_ns": cost.inside_ns, "outside_ns": cost.outside_ns} if cost else None,
        **(settings or {}),
    }
