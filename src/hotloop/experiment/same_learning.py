"""Whether two commands learn the same: weights after equal steps, otherwise returns.

A change that should not affect learning (threads, vectorized pushes, `no_grad`) keeps the weights,
bit for bit or up to rounding. If runs made different numbers of steps, or programs choose their own
seeds, only the distributions of returns can be compared.
"""

from __future__ import annotations

from statistics import median

from hotloop.analyze.comparing.weights import DIFFER, SAME, compare_weights, worst
from hotloop.experiment.measured import Measured


class SameLearning:
    """The weights and returns of pairs of runs."""

    def __init__(self) -> None:
        self._verdicts: list[str] = []
        self._returns: tuple[list[float], list[float]] = ([], [])

    def see(self, first: Measured, second: Measured) -> None:
        """One more pair."""
        runs = first.analysis.run, second.analysis.run
        equal = (
            runs[0].env_steps == runs[1].env_steps
            and runs[0].gradient_steps == runs[1].gradient_steps > 0
        )
        if equal:
            verdict = compare_weights(first.analysis.notes.weights, second.analysis.notes.weights)
            self._verdicts += [verdict] if verdict is not None else []
        steps = min(run.env_steps for run in runs)
        for side, each in zip(self._returns, (first, second), strict=True):
            value = each.analysis.returns.at_steps(steps)
            side += [value] if value is not None else []

    def notes(self) -> list[str]:
        """The result, as sentences."""
        if self._verdicts:
            verdict, pairs = worst(self._verdicts), len(self._verdicts)
            return [f"Learning: {verdict} after equal steps ({pairs} pairs, warm-up included)."]
        first, second = self._returns
        if not first or not second:
            return []
        means = [sum(side) / len(side) for side in self._returns]
        return [
            "Learning: weights cannot be compared (the numbers of steps differ); mean return "
            f"{means[0]:.4g} and {means[1]:.4g} after equal steps, over {len(first)} pairs. "
            "--to-return compares learning."
        ]


class LearningSeen:
    """The learning of each pair: weights and returns, and the baselines among themselves."""

    def __init__(self) -> None:
        self._pairs: list[str] = []
        self._baselines: set[str] = set()
        self._returns: tuple[list[float], list[float]] = ([], [])

    def see(self, first: Measured, second: Measured) -> None:
        ours = first.analysis.notes.weights
        compared = compare_weights(ours, second.analysis.notes.weights)
        if compared is not None and ours is not None:
            self._pairs.append(compared)
            self._baselines.add(ours.digest)
        for side, run in zip(self._returns, (first, second), strict=True):
            # All episodes: both sides made equal steps, and a tenth of a short run is one window.
            mean = run.analysis.returns.training.mean
            if mean is not None:
                side.append(mean)

    def returns(self) -> tuple[float | None, float | None]:
        """The median of each side's mean returns; None without any, or if both learned the same."""
        if self.verdict() == SAME:
            return None, None
        before, after = (median(side) if side else None for side in self._returns)
        return before, after

    @property
    def are_other(self) -> bool:
        """Whether they differ, and do not from run to run."""
        return worst(self._pairs) == DIFFER and len(self._baselines) == 1

    def verdict(self) -> str:
        found = worst(self._pairs)
        if found == DIFFER and len(self._baselines) > 1:
            return "weights differ, as they do from run to run"
        return found
