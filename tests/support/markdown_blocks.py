"""Reads the blocks of a page of the documentation, and what a comment above a block says of it.

<!-- not run: why -->            cannot be run here
<!-- run as: hotloop … -->       a shorter form of the same command is run
<!-- file: plan.toml -->         the block is a file that the commands after it use
<!-- of: pages/… -->             nothing: any other comment is a comment
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

_FENCE = re.compile(r"^```(\w*)\s*$")
_COMMENT = re.compile(r"<!--\s*(not run|run as|file|runs):\s*(.*?)\s*-->", re.DOTALL)

SHELLS = ("console", "sh", "bash", "shell")


@dataclass
class Block:
    """A fenced block with what the comments above it say."""

    language: str
    line: int
    text: str
    marks: dict[str, list[str]] = field(default_factory=dict)

    @property
    def commands(self) -> list[str]:
        """What a reader would type: lines after a `$`, or every line of a script."""
        lines = self.text.replace("\\\n", " ").splitlines()
        if self.language == "console":
            lines = [line[2:] for line in lines if line.startswith("$ ")]
        return [line.strip() for line in lines if line.strip() and not line.startswith("#")]


def blocks_of(path: Path) -> list[Block]:
    """Every fenced block of a page."""
    blocks: list[Block] = []
    above: list[str] = []
    inside: Block | None = None
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if inside is not None:
            if line.startswith("```"):
                blocks.append(inside)
                inside, above = None, []
            else:
                inside.text += line + "\n"
        elif fence:
            marks: dict[str, list[str]] = {}
            for kind, what in _COMMENT.findall("\n".join(above)):
                marks.setdefault(kind, []).append(" ".join(what.split()))
            inside = Block(fence[1], number, "", marks)
        elif line.strip():
            # A mark belongs to the block right below it.
            above = [*above, line] if line.startswith("<!--") or _open(above) else []
    assert inside is None, f"{path}: a block is not closed"
    return blocks


def _open(lines: list[str]) -> bool:
    return bool(lines) and "-->" not in lines[-1]


def outside_blocks(path: Path) -> list[str]:
    """The lines that are in no fenced block."""
    found, inside = [], False
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("```"):
            inside = not inside
        elif not inside:
            found.append(line)
    return found
