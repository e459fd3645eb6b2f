"""The whole analysis in one sentence."""

from __future__ import annotations

from hotloop.analyze.model import Analysis, Phase
from hotloop.diagnose.evidence import won
from hotloop.diagnose.finding import HEALTHY, INFO, Finding
from hotloop.words import LOOP_BEGINS, PARENTS

#: With fewer environment steps a share may be that of the first, slow calls.
ENOUGH_STEPS = 200
#: A loop that steps slowly has said enough after this long (at 100 samples a second, 500 of
#: them), however few steps it made.
ENOUGH_SECONDS = 5.0
#: Below this nothing is known, however fast the environment steps: a window is a second.
LEAST_SECONDS = 0.5
#: A phase below this share of the loop is not what most of it is.
LEAST_SHARE = 0.01
#: From this share on, time that no phase explains is said to be there.
MUCH_UNEXPLAINED = 0.2


def too_short(analysis: Analysis) -> str:
    """Why this capture is too short to judge; empty if it is not."""
    run = analysis.run
    began = any(phase.name in LOOP_BEGINS for phase in analysis.phases)
    if analysis.phases and not began and not run.env_steps:
        return "no step of a training was seen"
    if run.loop_s >= ENOUGH_SECONDS or not run.loop_s:
        return ""
    if run.env_steps and run.env_steps < ENOUGH_STEPS:
        return f"{run.env_steps} steps; findings need about {ENOUGH_STEPS}"
    if run.loop_s < LEAST_SECONDS:
        return f"{run.loop_s:.2f} s of training; findings need about {ENOUGH_SECONDS:.0f}"
    return ""


def verdict(analysis: Analysis, findings: list[Finding]) -> str:
    """What a person should take away if they read nothing else."""
    loud = [finding for finding in findings if finding.severity not in (INFO, HEALTHY)]
    if loud:
        return loud[0].title
    if not analysis.run.loop_s:
        return "Nothing was measured: the program ended before its first window closed."
    short = too_short(analysis)
    if short:
        return f"Too short to judge: {short}. {_most_of_it(analysis)}".strip()
    largest = largest_leaves(analysis)
    if not largest:
        return (
            "No phase was seen: neither a library that hotloop knows nor a region of the "
            "program's own. The functions below say where the time went."
        )
    return f"Nothing significant: {_largest_avoidable(findings)} {_most_of_it(analysis)}".strip()


def _largest_avoidable(findings: list[Finding]) -> str:
    healthy = [finding.title for finding in findings if finding.severity == HEALTHY]
    quiet = [finding for finding in findings if finding.severity == INFO]
    if quiet:
        share = won(quiet[0].gain)
        size = f"about {share:.0%}" if share >= 0.01 else "below 1%"
        text = f"the largest avoidable cost is {quiet[0].id} ({size} of the run)."
    else:
        text = "no avoidable cost was found."
    return " ".join([text, *(f"{title.rstrip('.')}." for title in healthy)])


def _most_of_it(analysis: Analysis) -> str:
    largest = largest_leaves(analysis)
    if not largest:
        return ""
    parts = [f"{phase.name} ({phase.self_s / analysis.run.loop_s:.0%})" for phase in largest]
    listed = parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1]
    most = f"Most of the training loop is {listed}."
    if analysis.unexplained < MUCH_UNEXPLAINED:
        return most
    if len(largest) == 1 and analysis.unexplained > largest[0].share:
        most = f"The largest phase is {listed}."
    return (
        f"{most} No phase explains {analysis.unexplained:.0%}: the functions below say where "
        "that went."
    )


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
        if phase.self_s <= 0 or (chosen and phase.self_s < LEAST_SHARE * analysis.run.loop_s):
            break
        chosen.append(phase)
        if sum(p.self_s for p in chosen) >= enough * analysis.run.loop_s:
            break
    return chosen
