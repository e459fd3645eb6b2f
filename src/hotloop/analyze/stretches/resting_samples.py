"""Finds the phase of samples that were taken between stretches.

The sampler does not rest, but between stretches it sees only the stack, not the phase. The running
code determines the phase, so a stack belongs to the phase in which the same stack was seen while
every call was measured. If a stack was never seen, its longest outer part that was seen counts. A
stack that belongs to several phases (two calls in one line) is divided in the proportion in which
they were seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache

from hotloop.analyze.samples.functions import is_own_file
from hotloop.capture.lines import StackRow
from hotloop.capture.window import Samples

#: Path -> share of a stack's time.
Parts = list[tuple[str, float]]


class PhasesOfStacks:
    """In which phases each stack, and each beginning of a stack, was seen."""

    def __init__(self, measured: Iterable[Samples], stacks: dict[int, StackRow]) -> None:
        self._stacks = stacks
        #: Number of each stack without hotloop's own frames -> that of its caller; 0 is no frame.
        self._callers: list[int] = [0]
        self._numbers: dict[tuple[int, str, str, int], int] = {}
        self._number = cache(self._number_of)
        #: Stack -> phase -> time in which it was the whole stack, and in which it was part of one.
        self._whole: dict[int, dict[str, int]] = {}
        self._within: dict[int, dict[str, int]] = {}
        for samples in measured:
            for (path, stack, _), (_, ns) in samples.items():
                self._learn(path, self._number(stack), ns)

    def _learn(self, path: str, number: int, ns: int) -> None:
        _count(self._whole.setdefault(number, {}), path, ns)
        while True:
            _count(self._within.setdefault(number, {}), path, ns)
            if not number:
                return
            number = self._callers[number]

    def _number_of(self, stack: int) -> int:
        """The number of a stack; those that differ only in hotloop's frames have the same."""
        rows: list[StackRow] = []
        seen: set[int] = set()
        while stack in self._stacks and stack not in seen:
            seen.add(stack)
            rows.append(self._stacks[stack])
            stack = rows[-1].parent
        number = 0
        for row in reversed(rows):
            if not is_own_file(row.file):
                key = (number, row.file, row.function, row.line)
                if key not in self._numbers:
                    self._numbers[key] = len(self._callers)
                    self._callers.append(number)
                number = self._numbers[key]
        return number

    def of(self, stack: int, fits: Callable[[str], bool]) -> Parts:
        """The phases of a stack, among those that fit; none if nothing like it was seen."""
        number = self._number(stack)
        found = _fitting(self._whole.get(number, {}), fits)
        while not found:
            found = _fitting(self._within.get(number, {}), fits)
            if not number:
                break
            number = self._callers[number]
        whole = sum(found.values())
        return [(path, ns / whole) for path, ns in found.items()]


def divide(parts: Parts, count: int, ns: int) -> Iterable[tuple[str, int, int]]:
    """(path, samples, nanoseconds) of each part; sums stay what they were."""
    share = 0.0
    counts = times = 0
    for path, part in parts:
        share += part
        upto, until = round(count * share), round(ns * share)
        yield path, upto - counts, until - times
        counts, times = upto, until


def _fitting(found: dict[str, int], fits: Callable[[str], bool]) -> dict[str, int]:
    return {path: ns for path, ns in found.items() if ns and fits(path)}


def _count(times: dict[str, int], path: str, ns: int) -> None:
    times[path] = times.get(path, 0) + ns
