"""Which findings are shown, and in which order.

Findings are ordered by the middle of their gain's range. A general finding is shown only if nothing
more specific explains the same time. One cause gives one finding.
"""

from __future__ import annotations

from hotloop.diagnose.finding import HEALTHY, INFO, Finding
from hotloop.phases import is_unidentified

#: A finding of this id yields to any of those that explains at least `EXPLAINS` of what it
#: would save: those say why, this one only says where.
YIELDS_TO: dict[str, frozenset[str]] = {
    "env-bound": frozenset(
        [
            "pandas-in-step",
            "redundant-work-in-step",
            "deepcopy-in-step",
            "growing-step-cost",
            "reset-leak",
            "slow-reset",
            "render-in-step",
            "image-resize",
            "subprocess-overhead",
            "serial-heavy-env",
            "stragglers",
            "pickled-observations",
            "too-many-envs",
            "gc-every-step",
            "list-to-tensor",
            "memory-pressure",
            "data-loading",
            "logging",
            "checkpointing",
            "thread-oversubscription",
            "cpu-quota",
            "framework-overhead",
            "python-loop",
        ]
    ),
    "redundant-work-in-step": frozenset(
        [
            "logging",
            "checkpointing",
            "gc-every-step",
            "pandas-in-step",
            "stragglers",
            "slow-reset",
            "deepcopy-in-step",
            "growing-step-cost",
            "reset-leak",
            "render-in-step",
            "image-resize",
        ]
    ),
    "update-ratio": frozenset(
        [
            "anomaly-mode",
            "per-sample-update",
            "retracing",
            "recompilation",
            "thread-oversubscription",
            "cpu-quota",
            "graph-retained",
            "denormals",
            "gc-every-step",
            "list-to-tensor",
            "predict-in-loop",
        ]
    ),
    # Does not yield to one large function of a step: that may be the simulation itself.
    "serial-heavy-env": frozenset(
        [
            "slow-reset",
            "logging",
            "pandas-in-step",
            "deepcopy-in-step",
            "growing-step-cost",
            "reset-leak",
            "render-in-step",
            "image-resize",
        ]
    ),
    # A wrapper whose cost has its own finding is not overhead.
    "framework-overhead": frozenset({"image-resize", "deepcopy-in-step", "pandas-in-step"}),
    "eager-generation": frozenset({"no-kv-cache"}),
    "too-many-envs": frozenset({"subprocess-overhead"}),
    "data-loading": frozenset({"image-resize", "pandas-in-step"}),
    "growing-step-cost": frozenset({"reset-leak"}),
    "pickled-observations": frozenset({"subprocess-overhead"}),
    "buffer-cost-grows": frozenset({"naive-priority-sampling", "memory-pressure"}),
    "unbounded-rollout": frozenset({"graph-retained", "denormals"}),
    "per-item-buffer-push": frozenset({"deepcopy-in-step"}),
}
EXPLAINS = 0.5
#: A finding of this id comes after any of those that explains as much: they are changes of one
#: thing, and what this one is about remains true of the rest.
COMES_AFTER: dict[str, frozenset[str]] = {
    "launch-bound": frozenset(
        ["unfused-optimizer", "stepwise-recurrence", "per-sample-update", "python-gae"]
    ),
}
#: One environment is a choice that most algorithms are published with, not a mistake: it yields to
#: any other finding.
CHOICE = "single-env"
#: These name the side that others wait for: a finding there explains why.
WHO_IS_SLOW = frozenset({"slow-actors", "slow-learner"})
#: A loop that was found by its structure alone is whatever a rule with a name says it is.
STRUCTURE = "python-loop"
#: These only say where the time is, and explain nothing that another finding is about.
ONLY_WHERE = frozenset({CHOICE, STRUCTURE, "env-bound", *WHO_IS_SLOW})
#: The function name of code outside any function.
MODULE = "<module>"


def rank(findings: list[Finding]) -> list[Finding]:
    """The findings worth showing, largest gain first; explanations of healthy runs last."""
    kept = [each for each in _one_of_each(findings) if not _explained(each, findings)]
    problems = _specific_first(sorted((f for f in kept if f.is_problem), key=_weight))
    healthy = [f for f in kept if f.severity == HEALTHY]
    if problems:
        return problems + healthy
    # A healthy run's verdict names the largest avoidable cost.
    notes = sorted((f for f in kept if f.severity == INFO), key=_weight)
    return healthy + notes[:1]


def _weight(finding: Finding) -> float:
    return -finding.worth


def _specific_first(findings: list[Finding]) -> list[Finding]:
    """The same findings, each of `COMES_AFTER` behind what explains it."""
    found = list(findings)
    for general in findings:
        specific = COMES_AFTER.get(general.id, frozenset())
        ahead = [e for e in found if e.id in specific and e.worth >= EXPLAINS * general.worth]
        if ahead and found.index(ahead[-1]) > found.index(general):
            found.remove(general)
            found.insert(found.index(ahead[-1]) + 1, general)
    return found


def _one_of_each(findings: list[Finding]) -> list[Finding]:
    largest: dict[str, Finding] = {}
    for finding in findings:
        known = largest.get(finding.id)
        if known is None or finding.worth > known.worth:
            largest[finding.id] = finding
    return list(largest.values())


def _explained(general: Finding, findings: list[Finding]) -> bool:
    stronger = YIELDS_TO.get(general.id, frozenset())
    if general.id in (CHOICE, "too-few-envs"):
        stronger = frozenset(each.id for each in findings) - {CHOICE, general.id, "env-bound"}
    elif general.id in WHO_IS_SLOW:
        stronger = frozenset(each.id for each in findings) - ONLY_WHERE
    elif general.id == STRUCTURE:
        about = {each.id for each in findings if _about_the_same(each, general)}
        stronger = frozenset(about) - ONLY_WHERE
    return any(
        each.id in stronger and each.worth >= EXPLAINS * general.worth
        for each in findings
        if each.is_problem
    )


def _about_the_same(one: Finding, other: Finding) -> bool:
    """Whether two findings are about one piece of code: a phase, a function or a line.

    A gap between two known events holds whatever a program does there, and so does a module.
    """
    if one.phase == other.phase and one.phase and not is_unidentified(one.phase):
        return True
    return bool(_places(one) & _places(other))


def _places(finding: Finding) -> set[tuple[str, str | int]]:
    return {
        (line.file, line.line if line.function == MODULE else line.function)
        for line in finding.where
    }
