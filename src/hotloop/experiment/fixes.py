"""Which fixes `hotloop prove` tries for which finding, and what each may do to learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hotloop.analyze.model import Analysis
from hotloop.diagnose.finding import Finding
from hotloop.experiment.command import Command

#: What a fix may do to learning.
ROUNDING = "floating-point rounding differs"
DRAWS = "random numbers are drawn in another order, from the same distribution"
LESS_SEEN = "nothing, unless the program trains on what it returns"
IF_UNCHANGED = "nothing, unless the program changes what is now shared"
CHANGES = "changes how the agent learns: compare returns before keeping it"


@dataclass(frozen=True)
class Fix:
    """One change to try."""

    #: As short as it can be written.
    name: str
    #: How a user makes it.
    how: str
    #: Run-time fixes (`hooks/fixes`) and phases to run less often, as `hotloop run` takes them.
    fixes: tuple[str, ...] = ()
    every: tuple[str, ...] = ()
    environment: dict[str, str] = field(default_factory=dict)
    #: The source patch, as a unified diff against the program's folder.
    diff: str = ""
    #: What it may do to learning; empty if nothing.
    learning: str = ""
    #: Titles of libraries that it applies to; one of them must be in use.
    libraries: tuple[str, ...] = ()

    @property
    def keeps_weights(self) -> bool:
        """Whether equal steps must give equal weights; rounding errors grow into other actions."""
        return self.learning in ("", IF_UNCHANGED) and not self.every

    @property
    def changes_learning(self) -> bool:
        return self.learning == CHANGES

    def options(self) -> tuple[str, ...]:
        """Options of `hotloop run`."""
        fixes = [word for each in self.fixes for word in ("--fix", each)]
        every = [word for each in self.every for word in ("--every", each)]
        return (*fixes, *every)

    def on(self, command: Command) -> Command:
        """The command with this fix switched on; a patch is applied elsewhere."""
        return replace(
            command,
            options=(*command.options, *self.options()),
            environment={**command.environment, **self.environment},
        )


ONE_THREAD = Fix(
    "OMP_NUM_THREADS=1",
    "OMP_NUM_THREADS=1 in the environment and torch.set_num_threads(1)",
    fixes=("threads=1",),
    learning=ROUNDING,
)
IN_PROCESS = Fix(
    "in-process environments",
    "SyncVectorEnv instead of AsyncVectorEnv, or DummyVecEnv instead of SubprocVecEnv",
    fixes=("envs-in-process",),
)
IN_PROCESSES = Fix(
    "environments in processes",
    "AsyncVectorEnv instead of SyncVectorEnv, or SubprocVecEnv instead of DummyVecEnv",
    fixes=("envs-in-processes",),
)
EAGER = Fix("no torch.compile", "remove torch.compile", fixes=("eager",), learning=ROUNDING)


def _less_often(phase: str, count: int, what: str) -> Fix:
    return Fix(
        f"{phase} 1/{count} as often",
        f"{what} {count} times less often",
        every=(f"{phase}={count}",),
        learning=LESS_SEEN,
    )


Candidates = tuple[Fix, ...] | Callable[[Analysis, Finding], list[Fix]]


def _as_many_envs_as_cores(analysis: Analysis, finding: Finding) -> list[Fix]:
    cores = max(analysis.run.header.cores or 1, 1)
    return [envs(cores)]


def envs(count: int) -> Fix:
    return Fix(
        f"{count} environments",
        f"make {count} environments",
        fixes=(f"envs={count}",),
        learning=CHANGES,
    )


#: Finding -> its fixes that need no edit, the likeliest first.
RUN_TIME: dict[str, Candidates] = {
    "thread-oversubscription": (ONE_THREAD,),
    "cpu-quota": (ONE_THREAD,),
    "denormals": (
        Fix(
            "flush denormals",
            "torch.set_flush_denormal(True) at the start",
            fixes=("flush-denormals",),
            learning=ROUNDING,
        ),
    ),
    "anomaly-mode": (
        Fix(
            "anomaly mode off",
            "remove torch.autograd.set_detect_anomaly(True)",
            fixes=("anomaly-off",),
        ),
    ),
    "gc-every-step": (
        Fix(
            "no gc.collect",
            "remove gc.collect() and torch.cuda.empty_cache() from the loop",
            fixes=("no-gc-calls",),
        ),
    ),
    "predict-in-loop": (
        Fix(
            "model(x) for predict",
            "np.asarray(model(x, training=False)) instead of model.predict(x)",
            fixes=("model-call",),
            learning=ROUNDING,
        ),
    ),
    "list-to-tensor": (
        Fix(
            "one array",
            "torch.as_tensor(np.asarray(arrays)) instead of torch.tensor(arrays)",
            fixes=("one-array",),
        ),
    ),
    "retracing": (
        Fix(
            "tensors for Python floats",
            "pass tf.constant(value) instead of a Python float to the tf.function",
            fixes=("tensor-arguments",),
            learning=ROUNDING,
        ),
    ),
    "recompilation": (
        Fix(
            "dynamic shapes",
            "torch.compile(..., dynamic=True)",
            fixes=("dynamic-shapes",),
            learning=ROUNDING,
        ),
        EAGER,
    ),
    "unfused-optimizer": (
        Fix(
            "fused optimizer",
            "fused=True for the optimizer",
            fixes=("fused-optimizer",),
            learning=ROUNDING,
        ),
    ),
    "distribution-validation": (
        Fix(
            "no argument validation",
            "torch.distributions.Distribution.set_default_validate_args(False)",
            fixes=("no-validation",),
        ),
    ),
    "target-update-loop": (
        Fix(
            "foreach target update",
            "torch._foreach_mul_ and torch._foreach_add_ over all target parameters",
            fixes=("foreach-target",),
            learning=ROUNDING,
        ),
    ),
    "mixed-precision-no-gain": (
        Fix(
            "full precision",
            "remove autocast and GradScaler",
            fixes=("full-precision",),
            learning=ROUNDING,
        ),
    ),
    "small-work-on-gpu": (
        Fix(
            "CUDA_VISIBLE_DEVICES=",
            "train on the CPU: CUDA_VISIBLE_DEVICES= in the environment, or device='cpu'",
            environment={"CUDA_VISIBLE_DEVICES": ""},
            learning=ROUNDING,
        ),
    ),
    "loader-bound": (
        Fix(
            "2 loader workers",
            "DataLoader(..., num_workers=2, persistent_workers=True)",
            fixes=("loader-workers=2",),
            learning=DRAWS,
        ),
    ),
    "loader-workers-restarted": (
        Fix(
            "persistent workers",
            "DataLoader(..., persistent_workers=True)",
            fixes=("persistent-workers",),
        ),
    ),
    "checkpointing-with-memory-to-spare": (
        Fix(
            "no recomputation",
            "call the module instead of torch.utils.checkpoint.checkpoint",
            fixes=("no-recomputation",),
        ),
    ),
    "pageable-copies": (
        Fix("pinned memory", "DataLoader(..., pin_memory=True)", fixes=("pinned-memory",)),
    ),
    "tf32-off": (
        Fix(
            "TF32",
            'torch.set_float32_matmul_precision("high") and cudnn.benchmark = True',
            fixes=("tf32",),
            learning=ROUNDING,
        ),
    ),
    "subprocess-overhead": (IN_PROCESS,),
    "pickled-observations": (
        Fix(
            "shared memory",
            "AsyncVectorEnv(..., shared_memory=True)",
            fixes=("shared-memory",),
        ),
        IN_PROCESS,
    ),
    "serial-heavy-env": (IN_PROCESSES,),
    "too-many-envs": _as_many_envs_as_cores,
    "single-env": (envs(8),),
    "update-ratio": (
        Fix(
            "1/4 of the updates",
            "train a quarter as often",
            every=("learn=4",),
            learning=CHANGES,
        ),
    ),
    "evaluation": (_less_often("evaluate", 10, "evaluate"),),
    "logging": (
        Fix(
            "1/100 of the commits",
            "commit every 100 steps and at the end: all rows are kept",
            fixes=("fewer-commits=100",),
            libraries=("SQLite",),
        ),
        _less_often("log", 100, "log"),
    ),
    "checkpointing": (_less_often("checkpoint", 10, "save"),),
    "render-in-step": (_less_often("env.render", 100, "render"),),
    "deepcopy-in-step": (
        Fix(
            "shallow copies",
            "copy one level deep (dict(x), list(x)) instead of copy.deepcopy(x)",
            fixes=("shallow-copies",),
            learning=IF_UNCHANGED,
        ),
    ),
    "naive-priority-sampling": (
        Fix(
            "one cumulative sum",
            "np.searchsorted(np.cumsum(p), draws) instead of np.random.choice(p=p)",
            fixes=("weighted-choice",),
            learning=DRAWS,
        ),
    ),
    "data-loading": (
        Fix("read files once", "keep tables that were read", fixes=("cached-tables",)),
    ),
}


def run_time_fixes(analysis: Analysis, finding: Finding) -> list[Fix]:
    """The fixes of a finding that need no edit."""
    known = RUN_TIME.get(finding.id, ())
    fixes = known(analysis, finding) if callable(known) else known
    used = analysis.notes.libraries
    return [fix for fix in fixes if not fix.libraries or any(n in used for n in fix.libraries)]
