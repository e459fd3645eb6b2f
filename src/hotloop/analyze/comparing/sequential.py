"""When to stop a comparison: planned checks, each with its share of the false alarms."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from hotloop.analyze.comparing.compare import Comparison, Figures, compare_pairs
from hotloop.analyze.comparing.defaults import MARGIN, MOST_PAIRS, MOST_PAIRS_UNTIL
from hotloop.analyze.comparing.judgement import FASTER, SAME, SLOWER
from hotloop.analyze.comparing.statistics import ALPHA, look_levels, looks

#: A clear verdict is worth a few more pairs to name the phase, but not more than this many in all.
PHASE_PAIRS = 10


@dataclass(frozen=True)
class Rule:
    """How many pairs to make, and how sure to be."""

    #: Exactly this many pairs; with `until`, at most.
    pairs: int | None = None
    #: Stop when half the interval is this narrow. 0.02 is 2%.
    until: float | None = None
    margin: float = MARGIN
    #: Compare time per step even if the work per step differs.
    any_work: bool = False

    @property
    def schedule(self) -> list[int]:
        """Numbers of pairs at which the data are checked; the last is the maximum."""
        if self.pairs is not None and self.until is None:
            return [self.pairs]
        return looks(self.pairs or (MOST_PAIRS if self.until is None else MOST_PAIRS_UNTIL))

    def level(self, pairs: int) -> float:
        """How much error probability a verdict may spend after this many pairs.

        At a planned look, this is the level of that look. If the pairs end between two looks
        (Ctrl-C, a failed run), it is the part that the spending function assigns to the pairs since
        the last look. With a fixed number of pairs there is only one look, which may spend all.
        """
        schedule = self.schedule
        if len(schedule) == 1 or not pairs:
            return ALPHA
        before = [at for at in schedule if at < pairs]
        planned = [*before, pairs, *([] if pairs >= schedule[-1] else [schedule[-1]])]
        return look_levels(planned)[len(before)]

    def verdict(
        self,
        pairs: Sequence[tuple[Figures, Figures]],
        unit: str,
        names: tuple[str, str] = ("first", "second"),
    ) -> Comparison:
        """The verdict on the pairs so far."""
        level = self.level(len(pairs))
        return compare_pairs(
            pairs, unit, names, level=level, margin=self.margin, any_work=self.any_work
        )

    def enough(self, comparison: Comparison) -> bool:
        """Whether further pairs would not change the verdict."""
        whole = comparison.whole
        if comparison.pairs >= self.schedule[-1]:
            return True
        if self.until is None and whole.verdict == SAME:
            return True
        if self.until is not None and whole.low and whole.high:
            width = math.expm1(math.log(whole.high / whole.low) / 2)
            if width <= self.until:
                return True
        if any(change.matters for change in comparison.work) and not self.any_work:
            # More pairs do not make different work comparable; a few make the figures precise.
            return comparison.pairs >= PHASE_PAIRS
        named = comparison.responsible is not None or comparison.pairs >= PHASE_PAIRS
        return whole.verdict in (FASTER, SLOWER) and named
