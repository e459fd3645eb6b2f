"""A region clock under test, and its figures by path."""

from __future__ import annotations

from types import ModuleType
from typing import Any


class Tree:
    def __init__(self, module: ModuleType, clock: Any = None, **options: Any) -> None:
        self.core = module.Core(clock=clock, **options)
        self.core.enable()

    def figures(self) -> dict[str, dict[str, Any]]:
        _, rows, self.counters, self.loop_last = self.core.snapshot()
        paths: dict[int, str] = {}
        for node, parent, name, root in self.core.nodes():
            paths[node] = name if parent == -1 else f"{paths[parent] or ''}/{name}"
            if name is None:
                paths[node] = f"@{root}"
        keys = ("calls", "self", "elapsed", "min", "max", "histogram", "first", "last", "resident")
        return {
            paths[row[0]].replace("@0/", "").replace("@0", ""): dict(
                zip(keys, row[1:], strict=True)
            )
            for row in rows
        }
