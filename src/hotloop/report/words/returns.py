"""Returns in a report: the part of the headline, the JSON document and the page's curve."""

from __future__ import annotations

from typing import Any

from hotloop import units
from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.returns import EpisodeDelta, ReturnPoint


def headline_part(analysis: Analysis) -> str:
    """`return 187 (last tenth)`, with that of evaluations; empty without returns."""
    returns = analysis.returns
    if returns.last is None:
        return ""
    more = "last tenth"
    if returns.evaluation_last is not None:
        more += f"; evaluation {units.value(returns.evaluation_last)}"
    return f"return {units.value(returns.last)} ({more})"


def small_print(analysis: Analysis) -> str:
    """Remarks on the return; empty if there are none."""
    returns = analysis.returns
    if returns.why_none:
        return f"No return is shown: {returns.why_none}." if analysis.run.env_steps else ""
    if returns.shaped is not None and returns.shaped.mean is not None:
        return (
            "The return is computed from the environment's own rewards; the program learns "
            f"from modified ones (mean return {units.value(returns.shaped.mean)} instead of "
            f"{units.value(returns.training.mean or 0.0)})."
        )
    if returns.only_shaped:
        return (
            "The return is computed from rewards that wrappers modified; the environments' own "
            "rewards are not visible."
        )
    if returns.training.unknown:
        lost = units.plural(returns.training.unknown, "episode")
        return f"{lost} had a return that is not a finite number."
    return ""


def returns_document(analysis: Analysis) -> dict[str, Any] | None:
    """The returns as plain data; None if there are none."""
    returns = analysis.returns
    if not returns.training.episodes and not returns.evaluation.episodes:
        return None
    return {
        "last_tenth": returns.last,
        "last_tenth_length": returns.last_length,
        "evaluation_last_tenth": returns.evaluation_last,
        "best_mean_of_100": returns.best,
        "training": distribution(returns.training),
        "evaluation": distribution(returns.evaluation),
        "shaped": None if returns.shaped is None else distribution(returns.shaped),
        "curve": [point_document(point) for point in returns.points],
        "evaluation_curve": [point_document(point) for point in returns.evaluations],
    }


def distribution(delta: EpisodeDelta) -> dict[str, Any]:
    """Returns and lengths of episodes."""
    return {
        "episodes": delta.episodes,
        "unknown": delta.unknown,
        "mean": delta.mean,
        "deviation": delta.deviation,
        "min": delta.low if delta.episodes else None,
        "p10": delta.quantile(0.1),
        "p50": delta.quantile(0.5),
        "p90": delta.quantile(0.9),
        "max": delta.high if delta.episodes else None,
        "mean_length": delta.mean_length,
    }


def point_document(point: ReturnPoint) -> dict[str, Any]:
    """One point of the curve; seconds since the loop began."""
    return {
        "s": point.end_s,
        "env_steps": point.env_steps,
        "gradient_steps": point.gradient_steps,
        "episodes": point.delta.episodes,
        "mean": point.mean,
        "p10": point.delta.quantile(0.1),
        "p90": point.delta.quantile(0.9),
        "mean_length": point.delta.mean_length,
    }
