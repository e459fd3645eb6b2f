"""The error shown to users: a message and an exit code."""

from __future__ import annotations


class HotloopError(Exception):
    """What happened and what to do next, in one or two lines; shown without a traceback."""

    exit_code = 2
