"""Strict mode: in tests, a key that the schema does not declare is an error."""

from __future__ import annotations

import os
from collections.abc import Container, Iterable
from typing import Final

from hotloop.errors import HotloopError

#: Set by tests, for their subprocesses as well.
VARIABLE: Final = "HOTLOOP_STRICT_SCHEMA"


class UndeclaredError(HotloopError):
    """A capture holds a key that the schema does not declare."""


def is_strict() -> bool:
    return os.environ.get(VARIABLE, "") not in ("", "0")


def require(kind: str, names: Iterable[str], declared: Container[str]) -> None:
    """In strict mode, raise for names that are not declared; otherwise they are ignored."""
    if is_strict() and (unknown := sorted(name for name in names if name not in declared)):
        raise UndeclaredError(
            f"{kind}: not declared in capture/schema.py: {', '.join(map(repr, unknown))}"
        )
