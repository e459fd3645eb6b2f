"""Phase names and categories, shared by every part of hotloop.

The measuring side looks up the meaning of a region's name; reports and rules use the same names.
This file imports nothing, so that both halves may import it.
"""

from __future__ import annotations

from typing import Final

#: Phases of the training loop itself, and the category that each belongs to.
LOOP_PHASES: Final[dict[str, str]] = {
    "collect": "Training",
    "env.step": "Environment",
    "env.reset": "Environment",
    "env.render": "Rendering",
    "policy.act": "Policy",
    # A network without gradients, where nothing shows what for.
    "inference": "Model",
    "buffer.add": "Buffer",
    "buffer.sample": "Buffer",
    "advantage": "Training",
    # Language models: completions, their rewards and their log-probabilities.
    "generate": "Policy",
    "reward": "Environment",
    "logprob.policy": "Model",
    "logprob.reference": "Model",
    # Tree search: its network, its rules, and the tree itself.
    "search": "Policy",
    "search.network": "Model",
    "search.rules": "Environment",
    # An evolution strategy draws its candidates.
    "candidates": "Training",
    # They are tried, where nothing shows how.
    "fitness": "Environment",
    # Rollouts in a model of the world.
    "imagine": "Model",
    "learn": "Training",
    "learn.forward": "Model",
    "learn.loss": "Model",
    "learn.backward": "Model",
    "learn.optimizer": "Model",
    # One update that cannot be split: a compiled train step, a table's entry.
    "learn.step": "Model",
    # A library's own work around its gradient steps: data pipeline, callbacks, metrics.
    "learn.fit": "Model",
    # Between two steps, where no call separates acting from learning: a table of values
    # that is used and changed inline.
    "agent": "Training",
    # A whole training loop in one compiled call: environment, policy and learning.
    "loop.compiled": "Training",
}

#: Phases that may be anywhere: before, inside or after the loop.
OTHER_PHASES: Final[dict[str, str]] = {
    "startup": "Data",
    "import": "Data",
    "data": "Data",
    # The loop waits for a batch; a loader fetches one, here or in a worker; its workers start.
    "data.wait": "Waiting",
    "data.load": "Data",
    "data.workers": "Data",
    "transfer": "Transfer",
    # Collectives, gradients and weights between processes.
    "comm": "Communication",
    # A call of another process's function is sent off, with its arguments.
    "comm.submit": "Communication",
    # A policy's weights are sent to the process that generates or acts with it.
    "sync.weights": "Communication",
    "wait": "Waiting",
    "compile": "Model",
    "log": "Logging",
    "checkpoint": "Logging",
    "evaluate": "Logging",
}

PHASES: Final[dict[str, str]] = LOOP_PHASES | OTHER_PHASES

#: How the name of a gap begins that nothing identifies: `between step and forward`.
GAP: Final = "between "
#: The category of such code.
UNIDENTIFIED: Final = "Unidentified"

#: These two contain the others: their own time is not explained by any phase.
PARENTS: Final = ("collect", "learn")

#: The category of a region without one.
DEFAULT_CATEGORY: Final = "Custom"

#: The name of time in no phase, and how it is shown.
NO_PHASE: Final = ""
NO_PHASE_LABEL: Final = "(in no phase)"

#: The region that is open between two stretches (`native/stretches.c`).
REST: Final = "(rest)"

#: A network gets the weights of another: in a process that learns, of a target network; elsewhere,
#: those that a learner sent (`analyze.processes.received_weights`).
LOADED: Final = "(weights)"

#: Flags of a region, as the native core knows them (`native/core.h`).
REGION_LOOP: Final = 1
REGION_ASIDE: Final = 2
REGION_SHALLOW: Final = 4
REGION_BESIDE: Final = 8
REGION_LEARNS: Final = 128

#: Entering one of these means that the training loop has begun. The others (a reset, a network
#: called once to see its shape) happen while a program is still being set up.
LOOP_BEGINS: Final = frozenset(
    {
        "collect",
        "env.step",
        "learn",
        "learn.backward",
        "learn.optimizer",
        "buffer.add",
        "loop.compiled",
        "generate",
        "search",
        "candidates",
    }
)


def is_unidentified(name: str) -> bool:
    """Whether a region is the code between two events that nothing identifies."""
    return name.startswith(GAP)


def category_of(name: str) -> str:
    """The category of a region that was given none."""
    if is_unidentified(name):
        return UNIDENTIFIED
    return PHASES.get(name, DEFAULT_CATEGORY)


def flags_of(name: str) -> int:
    """The core's flags of a region: part of the loop, or separate from it."""
    if name == "evaluate":
        return REGION_ASIDE
    if name == "import":
        return REGION_SHALLOW
    learns = REGION_LEARNS if name.startswith("learn.") or name == "imagine" else 0
    if name in LOOP_BEGINS:
        return REGION_LOOP | learns
    if is_unidentified(name) or (name in LOOP_PHASES and name not in ("env.reset", "env.render")):
        return learns
    return REGION_BESIDE


#: How the path of a node begins that is not the main thread's: `@thread-loader/data.load`.
THREAD: Final = "@thread-"


def is_of_thread(path: str) -> bool:
    """Whether a node belongs to another thread than the main one."""
    return path.startswith(THREAD)


def path_of(names: list[str]) -> str:
    """Names from the outside in, as one path; a name's own slashes are escaped."""
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in names)


def names_of(path: str) -> list[str]:
    """The names of a path, as the program wrote them."""
    return [_plain(part) for part in path.split("/")] if path else []


def name_at(path: str) -> str:
    """The last name of a path; empty for time in no phase."""
    return _plain(path.rpartition("/")[2])


def _plain(part: str) -> str:
    return part.replace("%2F", "/").replace("%25", "%") if "%" in part else part
