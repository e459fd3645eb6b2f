"""The words that every part of hotloop shares: phases, their categories, counters.

The measuring side asks what a region's name means; reports and rules use the same names. This
file imports nothing, so that both halves may import it.
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
    "buffer.add": "Buffer",
    "buffer.sample": "Buffer",
    "advantage": "Training",
    "learn": "Training",
    "learn.forward": "Model",
    "learn.loss": "Model",
    "learn.backward": "Model",
    "learn.optimizer": "Model",
    # One update that cannot be looked into: a compiled train step, a table's entry.
    "learn.step": "Model",
    # A library's own work around its gradient steps: data pipeline, callbacks, metrics.
    "learn.fit": "Model",
    # Between two steps, where no call tells choosing an action from learning: a table of values
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
    "transfer": "Transfer",
    "wait": "Waiting",
    "compile": "Model",
    "log": "Logging",
    "checkpoint": "Logging",
    "evaluate": "Logging",
}

PHASES: Final[dict[str, str]] = LOOP_PHASES | OTHER_PHASES

#: The two that hold the others: their own self time is not explained by any phase.
PARENTS: Final = ("collect", "learn")

#: What a region is in when nobody said.
DEFAULT_CATEGORY: Final = "Custom"

#: Counters that every run has where they exist.
ENV_STEPS: Final = "env_steps"
EPISODES: Final = "episodes"
GRADIENT_STEPS: Final = "gradient_steps"
SAMPLES: Final = "samples"
TRANSFERS: Final = "transfers"
TRANSFER_BYTES: Final = "transfer_bytes"
SYNCS: Final = "syncs"
ITERATIONS: Final = "iterations"

#: Flags of a region, as the native core knows them (`native/core.h`).
REGION_LOOP: Final = 1
REGION_ASIDE: Final = 2
REGION_SHALLOW: Final = 4
REGION_BESIDE: Final = 8

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
    }
)


def category_of(name: str) -> str:
    """The category of a region that was given none."""
    return PHASES.get(name, DEFAULT_CATEGORY)


def flags_of(name: str) -> int:
    """What the core must know of a region: is it the loop, or something set apart from it?"""
    if name == "evaluate":
        return REGION_ASIDE
    if name == "import":
        return REGION_SHALLOW
    if name in LOOP_BEGINS:
        return REGION_LOOP
    if name in LOOP_PHASES and name not in ("env.reset", "env.render"):
        return 0
    return REGION_BESIDE


def path_of(names: list[str]) -> str:
    """Names from the outside in, as one path; a name's own slashes are escaped."""
    return "/".join(name.replace("%", "%25").replace("/", "%2F") for name in names)


def names_of(path: str) -> list[str]:
    """The names of a path, as the program wrote them."""
    if not path:
        return []
    return [part.replace("%2F", "/").replace("%25", "%") for part in path.split("/")]
