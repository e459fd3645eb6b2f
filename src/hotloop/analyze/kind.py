"""Determines the kind of training from the recording."""

from __future__ import annotations

from hotloop.analyze.model import Analysis
from hotloop.analyze.over_time.gauges import last
from hotloop.analyze.sums import summed
from hotloop.capture.schema import ENV_STEPS, GRADIENT_STEPS, LEARNING_STARTS
from hotloop.phases import LOOP_BEGINS, is_unidentified, names_of

#: Phases that only reinforcement learning has.
_ONLY_RL = frozenset(
    {
        "collect",
        "env.step",
        "env.reset",
        "policy.act",
        "buffer.add",
        "buffer.sample",
        "advantage",
        "agent",
        "loop.compiled",
        "generate",
        "reward",
        "logprob.policy",
        "logprob.reference",
        "search",
    }
)
#: Phases that make something to learn from out of environment steps.
_OF_EXPERIENCE = frozenset(
    {"collect", "buffer.add", "advantage", "agent", "loop.compiled", "search"}
)
DATA_WAIT = "data.wait"
_OF_A_LOADER = frozenset({"data.load", DATA_WAIT})
#: Libraries, by their titles, that learn from datasets unless something is stored.
_FOR_DATASETS = frozenset({"d3rlpy"})
#: Phases below this share of the loop are not worth a word.
LEAST_SHARE = 0.01
#: With no more than this share of the steps before it, learning began with the loop.
LEAST_WARM_UP = 0.05


def is_reinforcement_learning(analysis: Analysis) -> bool:
    """Whether anything was recognized that only reinforcement learning has."""
    return bool(analysis.run.env_steps) or any(p.name in _ONLY_RL for p in analysis.phases)


def has_training_loop(analysis: Analysis) -> bool:
    """Whether a training step of any kind was recorded."""
    return bool(analysis.run.env_steps) or any(p.name in LOOP_BEGINS for p in analysis.phases)


def span_of(analysis: Analysis) -> str:
    """The base of shares, in one word: a program without training steps has no loop."""
    return "loop" if has_training_loop(analysis) else "run"


def learns(analysis: Analysis) -> bool:
    """Whether anything was learned while the run was recorded."""
    if analysis.run.gradient_steps:
        return True
    return any(
        phase.name.startswith("learn") or phase.name in ("loop.compiled", "agent")
        for phase in analysis.phases
    )


def is_warm_up(analysis: Analysis) -> bool:
    """Whether a program with an optimizer ended before its first gradient step."""
    has_optimizer = bool(analysis.notes.networks or analysis.notes.keras_networks)
    return bool(analysis.run.env_steps) and has_optimizer and not learns(analysis)


def steps_per_s_after_warm_up(analysis: Analysis) -> float | None:
    """Steps per second once learning began; None if it began with the loop."""
    windows = analysis.loop_windows
    if any(phase.name == "advantage" for phase in analysis.phases):
        return None  # on-policy: there is no warm-up before the first rollout
    first = next((i for i, w in enumerate(windows) if w.counters.get(GRADIENT_STEPS)), 0)
    before = sum(window.counters.get(ENV_STEPS, 0) for window in windows[:first])
    # The window in which learning began is partly warm-up; on-policy rollouts are not.
    learning = windows[first + 1 :]
    seconds = sum(window.seconds for window in learning)
    if before <= LEAST_WARM_UP * analysis.run.env_steps or not seconds:
        return None
    if any(not window.counters.get(GRADIENT_STEPS) for window in learning[:-1]):
        return None
    return sum(window.counters.get(ENV_STEPS, 0) for window in learning) / seconds


def learns_from_data(analysis: Analysis) -> bool:
    """Whether gradient steps learn from a dataset, and environments step outside of training.

    They fill the dataset before it, or evaluate what was learned. Nothing of a step is stored then,
    and batches come from a loader or from a library for datasets.
    """
    if not analysis.run.env_steps or not analysis.run.gradient_steps:
        return False
    names = {phase.name for phase in analysis.phases}
    if names & _OF_EXPERIENCE:
        return False
    windows = analysis.loop_windows
    first = next((i for i, w in enumerate(windows) if w.counters.get(GRADIENT_STEPS)), len(windows))
    later = windows[first + 1 :]
    # The steps of actors are in their own windows.
    stepping = {phase.process for phase in analysis.phases if phase.name == "env.step"}
    own = not stepping or "main" in stepping
    if own and later and not any(window.counters.get(ENV_STEPS) for window in later):
        return True
    return bool(names & _OF_A_LOADER or _FOR_DATASETS & analysis.notes.libraries.keys())


#: Phases that are listed of a run without a known kind.
MOST_NAMED = 3


def phases_there_are(analysis: Analysis) -> list[tuple[str, float]]:
    """The phases with the most own time that have a name, and their shares of the loop."""
    shares = summed(
        # How a loader hands over its batches is the loader's.
        (
            DATA_WAIT if DATA_WAIT in names_of(phase.path) else phase.name,
            analysis.run.share(phase.loop_self_s),
        )
        for phase in analysis.training_phases
        if not is_unidentified(phase.name)
    )
    largest = sorted(shares.items(), key=lambda item: -item[1])[:MOST_NAMED]
    return [(name, share) for name, share in largest if share >= LEAST_SHARE]


def learning_starts(analysis: Analysis) -> int | None:
    """Environment steps before the first update, if a library has such a setting."""
    setting = last(analysis.loop_windows, LEARNING_STARTS)
    return int(setting) if setting is not None else None
