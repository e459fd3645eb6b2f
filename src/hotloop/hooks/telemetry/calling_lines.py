"""The source lines of the program that make calls which rules need."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from types import FrameType

from hotloop.hooks.program.files import is_program_file

#: Source lines kept for each kind of call. The first calls are all attributed, later ones when
#: their number is a power of two: a line that calls a thousand times is among them.
MOST_LINES = 4
#: Frames of a stack that are searched for the program.
_DEEPEST = 40
#: Lines kept of calls of another kind, and stacks whose own line is searched among them.
MOST_ELSEWHERE, MOST_STACKS = 512, 16
#: This many calls of another kind are chance: the purpose of a call is sometimes a guess.
CHANCE = 1

#: A source line of the program: (file, line, function).
Line = tuple[str, int, str]


class CallingLines:
    """The source lines of the program that make expensive calls."""

    def __init__(self) -> None:
        self._seen: dict[str, int] = {}
        self._found: dict[str, dict[Line, int]] = {}
        #: Kind -> the program's lines, the innermost first -> calls made from them.
        self._stacks: dict[str, dict[tuple[Line, ...], int]] = {}
        #: Kind -> line -> calls of another kind made from it.
        self._elsewhere: dict[str, dict[Line, int]] = {}

    def note(self, what: str) -> None:
        """A call of this kind was made; its line is looked up for some calls only."""
        count = self._seen[what] = self._seen.get(what, 0) + 1
        if count > MOST_LINES and count & (count - 1):
            return
        line = calling_line()
        if line is not None:
            self.add(what, line)

    def note_stack(self, what: str) -> None:
        """A call of this kind was made from these lines; one of them is its own."""
        stacks, stack = self._stacks.setdefault(what, {}), tuple(calling_lines())
        if stack in stacks or len(stacks) < MOST_STACKS:
            stacks[stack] = stacks.get(stack, 0) + 1

    def note_elsewhere(self, what: str) -> None:
        """A call that is not of this kind was made from these lines."""
        lines = self._elsewhere.setdefault(what, {})
        for line in calling_lines():
            if line in lines or len(lines) < MOST_ELSEWHERE:
                lines[line] = lines.get(line, 0) + 1

    def add(self, what: str, line: Line) -> None:
        """This line has made a call of this kind."""
        found = self._found.setdefault(what, {})
        if line in found or len(found) < MOST_LINES:
            found[line] = found.get(line, 0) + 1

    def notes(self) -> dict[str, list[list[object]]]:
        """Kind -> source lines, the most frequent first."""
        noted: dict[str, list[list[object]]] = {
            what: [list(line) for line in sorted(found, key=lambda each: -found[each])]
            for what, found in list(self._found.items())
        }
        for what, stacks in list(self._stacks.items()):
            noted[what] = [list(line) for line in self._own_lines(what, list(stacks.items()))]
        return noted

    def _own_lines(self, what: str, stacks: list[tuple[tuple[Line, ...], int]]) -> list[Line]:
        """Of each stack the innermost line that makes no calls of another kind."""
        elsewhere = self._elsewhere.get(what, {})
        own = (
            next((line for line in stack if elsewhere.get(line, 0) <= CHANCE), None)
            for stack, _ in sorted(stacks, key=lambda item: -item[1])
        )
        return [line for line in dict.fromkeys(own) if line is not None][:MOST_LINES]


def calling_line() -> Line | None:
    """The innermost source line of the program."""
    return next(calling_lines(), None)


def calling_lines() -> Iterator[Line]:
    """The source lines of the program, the innermost first."""
    frame: FrameType | None = sys._getframe()
    for _ in range(_DEEPEST):
        if frame is None:
            return
        if is_program_file(frame.f_code.co_filename):
            yield frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name
        frame = frame.f_back
