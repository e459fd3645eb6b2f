"""Pages of experiments, and what is read in them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Open = Callable[..., Any]


ENVS = ["1", "2", "4", "8", "16", "32"]


def sections(page: Any) -> list[str]:
    return page.evaluate("[...document.querySelectorAll('section')].map((each) => each.id)")  # type: ignore[no-any-return]
