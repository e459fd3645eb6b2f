"""The error of shares of the time between stretches.

Stretches and samples are two estimates of the same shares. The error of stretches is that of a
ratio of sums (Cochran, Sampling Techniques, section 6.3), with stretches as the sampled units. The
error of samples is binomial, with a smaller effective number of samples if some stand for much more
time than others, as on a busy machine. The two are averaged with one weight for all phases, so that
shares still add up; the weight minimizes the sum of all variances.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

#: Fewer stretches than this say little about how much they differ.
FEWEST_UNITS = 8
#: Fewer samples than this are mostly chance.
FEWEST_SAMPLES = 50


@dataclass
class Unit:
    """Measurements of one stretch (or of a few, in a merged window)."""

    elapsed: dict[str, int]
    measured_ns: int


def effective_count(weights: Iterable[tuple[int, int]]) -> float:
    """How many equal samples are worth as much as these (Kish, Survey Sampling, section 11.7)."""
    whole = squares = 0.0
    for count, ns in weights:
        whole += ns
        squares += ns * ns / max(count, 1)
    return whole * whole / squares if squares else 0.0


class SharesError:
    """Standard errors of shares, and the weight of samples that makes them smallest."""

    def __init__(self, units: Sequence[Unit], samples: float) -> None:
        of_units, of_samples = _variances(units, samples)
        total_units, total_samples = sum(of_units.values()), sum(of_samples.values())
        if samples < FEWEST_SAMPLES:
            self.weight_of_samples = 0.0
        elif len(units) < FEWEST_UNITS or not total_samples:
            self.weight_of_samples = 1.0
        else:
            self.weight_of_samples = total_units / (total_units + total_samples)
        weight = self.weight_of_samples
        #: Node -> standard error of its share; empty if nothing is known.
        self.of_shares = {
            path: ((1 - weight) ** 2 * of_units[path] + weight**2 * of_samples[path]) ** 0.5
            for path in of_units
        }


def _variances(units: Sequence[Unit], samples: float) -> tuple[dict[str, float], dict[str, float]]:
    """Node -> variance of its share by stretches, and by samples."""
    measured = sum(unit.measured_ns for unit in units)
    of_units: dict[str, float] = {}
    of_samples: dict[str, float] = {}
    if len(units) < 2 or not measured:
        return of_units, of_samples
    for path in {path for unit in units for path in unit.elapsed}:
        share = sum(unit.elapsed.get(path, 0) for unit in units) / measured
        squares = sum((u.elapsed.get(path, 0) - share * u.measured_ns) ** 2 for u in units)
        of_units[path] = squares * len(units) / (len(units) - 1) / measured**2
        of_samples[path] = max(share * (1 - share), 0.0) / samples if samples else 0.0
    return of_units, of_samples
