"""Where each library keeps its phases: one file a library, readable as a table.

A file here defines `LIBRARY`, a `Library` of `Place`s (`table` says what these are); `LIBRARIES`
below lists the files. `install` puts a region around each place when its module is imported, before
or after hotloop starts, and takes all of them off again. Only this folder knows the names of
libraries; it may use `measure`'s profiler and `words`, and nothing of the reporting half.
"""

from __future__ import annotations

#: Modules of this folder that define a `LIBRARY`, and the package that wakes each.
#: A table is read only when its library is imported: hotloop must start fast. A file with several
#: small tables names each behind a colon.
LIBRARIES: dict[str, tuple[str, ...]] = {
    "torch": ("torch",),
    "gymnasium": ("gymnasium",),
    "old_gym": ("gym",),
    "sb3": ("stable_baselines3",),
    "sb3_contrib": ("sb3_contrib",),
    "torchrl": ("torchrl",),
    "tianshou": ("tianshou",),
    "ray_workers": ("ray",),
    "rllib": ("ray.rllib",),
    "rsl_rl": ("rsl_rl",),
    "skrl": ("skrl",),
    "pipes": ("multiprocessing",),
    "tensorflow": ("tensorflow",),
    "keras": ("keras",),
    "jax": ("jax",),
    "loggers:TENSORBOARD": ("torch.utils.tensorboard",),
    "loggers:TENSORBOARDX": ("tensorboardX",),
    "loggers:WANDB": ("wandb",),
    "sqlite": ("sqlite3",),
}
