"""Attaches hotloop to libraries and to the program while it runs.

`context.HookContext`, which only the session creates, holds the state of one run. `library` defines
the parts of a library's table; `install` attaches the tables as their libraries are imported, and
detaches everything again. `wrapping` hooks functions that need more than a region, and `protocols`
has the shared types. For the rest, see each folder's docstring.

Only this package knows names of libraries. It may use `measure`, `capture.schema` and `phases`; it
knows nothing about `run`, `analyze`, `diagnose`, `report` or `integrations`.
"""

from __future__ import annotations

#: The tables in `libraries/`, and the packages whose import makes hotloop read each: a table is not
#: loaded before, so that hotloop starts fast. A file with several small tables names each after a
#: colon.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "torch_data": ("torch.utils.data",),
    "torch_distributed": ("torch.distributed",),
    "gymnasium": ("gymnasium",),
    "gym": ("gym",),
    "pettingzoo": ("pettingzoo",),
    "sb3": ("stable_baselines3",),
    "sb3_contrib": ("sb3_contrib",),
    "transformers": ("transformers",),
    "trl": ("trl",),
    "torchrl": ("torchrl",),
    "tianshou": ("tianshou",),
    "d3rlpy": ("d3rlpy",),
    "ray": ("ray",),
    "rllib": ("ray.rllib",),
    "rsl_rl": ("rsl_rl",),
    "skrl": ("skrl",),
    "multiprocessing": ("multiprocessing",),
    "threads": ("threading",),
    "joblib": ("joblib",),
    "tensorflow": ("tensorflow",),
    "keras": ("keras",),
    "jax": ("jax",),
    "loggers:tensorboard": ("torch.utils.tensorboard",),
    "loggers:tensorboardx": ("tensorboardX",),
    "loggers:wandb": ("wandb",),
    "sqlite": ("sqlite3",),
    "evolution:pycma": ("cma",),
    "evolution:cmaes": ("cmaes",),
}
