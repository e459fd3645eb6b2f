"""The whole analysis in one sentence."""

from __future__ import annotations

from hotloop.analyze.model import Analysis, Phase
from hotloop.diagnose.finding import Finding
from hotloop.words import PARENTS


def verdict(analysis: Analysis, findings: list[Finding]) -> str:
    """What a person should take away if they read nothing else."""
    if findings:
        return findings[0].title
    if not analysis.run.loop_s:
        return "Nothing was measured: the program ended before its first window closed."
    largest = largest_leaves(analysis)
    if not largest:
        return (
            "No phase was seen: neither a library that hotloop knows nor a region of the "
            "program's own. The functions below say where the time went."
        )
    parts = [f"{phase.name} ({phase.self_s / analysis.run.loop_s:.0%})" for phase in largest]
    listed = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    return f"Most of the training loop is {listed}."


def largest_leaves(analysis: Analysis, enough: float = 0.6, most: int = 3) -> list[Phase]:
    """The phases with the most time of their own, until they make up most of the loop."""
    by_name: dict[str, Phase] = {}
    for phase in analysis.phases:
        if phase.process == "main" and phase.thread == "main" and phase.name not in PARENTS:
            known = by_name.get(phase.name)
            if known is None or phase.self_s > known.self_s:
                by_name[phase.name] = phase
    ordered = sorted(by_name.values(), key=lambda phase: -phase.self_s)
    chosen: list[Phase] = []
    for phase in ordered[:most]:
        if phase.self_s <= 0:
            break
        chosen.append(phase)
        if sum(p.self_s for p in chosen) >= enough * analysis.run.loop_s:
            break
    return chosen
