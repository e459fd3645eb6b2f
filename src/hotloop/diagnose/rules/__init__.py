"""The rules: functions from an analysis to findings, one file per family of causes.

| folder | causes |
|---|---|
| `environments/` | the cost of a step, a reset and a frame, and the number of environments |
| `learning/` | updates, losses, searches, generation, and how often the loop learns and evaluates |
| `processes/` | workers, ranks, actors and threads: waiting, sending, sharing cores |
| `frameworks/` | the use of PyTorch, TensorFlow and JAX: devices, copies, compiling |
| `storage/` | buffers, data loaders, files and logs |

`python_loops` covers code of any kind. Each file ends with its `RULES`; `FAMILIES` lists them in
the order in which equal findings are shown.
"""

from __future__ import annotations

from hotloop.diagnose.finding import Rule
from hotloop.diagnose.rules import python_loops
from hotloop.diagnose.rules.environments import (
    env_bound,
    environment,
    episodes,
    rendering,
    step_parts,
    vectors,
)
from hotloop.diagnose.rules.frameworks import accelerators, compiling, copies, dispatch, framework
from hotloop.diagnose.rules.learning import (
    advantages,
    autograd,
    language_models,
    row_loops,
    schedule,
    search,
    updates,
)
from hotloop.diagnose.rules.processes import (
    actors_and_learners,
    awaited_threads,
    cpu_threads,
    polling,
    processes,
    ranks_and_runners,
    sending,
    uneven,
)
from hotloop.diagnose.rules.storage import buffers, loaders, loading, logs

#: Every family of rules.
FAMILIES: tuple[tuple[Rule, ...], ...] = (
    environment.RULES,
    env_bound.RULES,
    rendering.RULES,
    episodes.RULES,
    vectors.RULES,
    processes.RULES,
    (ranks_and_runners.rules,),  # none of them where there is one process
    actors_and_learners.RULES,
    polling.RULES,
    sending.RULES,
    uneven.RULES,
    awaited_threads.RULES,
    buffers.RULES,
    advantages.RULES,
    loaders.RULES,
    loading.RULES,
    schedule.RULES,
    logs.RULES,
    cpu_threads.RULES,
    accelerators.RULES,
    copies.RULES,
    framework.RULES,
    compiling.RULES,
    dispatch.RULES,
    autograd.RULES,
    updates.RULES,
    step_parts.RULES,
    python_loops.RULES,
    row_loops.RULES,
    language_models.RULES,
    search.RULES,
)
