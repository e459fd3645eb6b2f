"""Which fixes `hotloop prove` tries for which finding, and what each may do to learning."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from hotloop.analyze.model import Analysis
from hotloop.diagnose.finding import Finding
from hotloop.experiment.command import Command

#: Possible effects of a fix on learning.
ROUNDING = "floating-point rounding differs"
DRAWS = "random numbers are drawn in another order, from the same distribution"
LESS_SEEN = "none, unless the program trains on its result"
IF_UNCHANGED = "none, unless the program modifies data that is now shared"
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
    #: Its possible effect on learning; empty if none.
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


#: Run-time fix of `hooks/fixes` -> (its name, how a user makes it, what it may do to learning).
_SWITCHES: dict[str, tuple[str, str, str]] = {
    "anomaly-off": ("anomaly mode off", "remove torch.autograd.set_detect_anomaly(True)", ""),
    "cached-tables": ("read files once", "keep tables in memory once read", ""),
    "dynamic-shapes": ("dynamic shapes", "torch.compile(..., dynamic=True)", ROUNDING),
    "eager": ("no torch.compile", "remove torch.compile", ROUNDING),
    "envs-in-process": (
        "in-process environments",
        "SyncVectorEnv instead of AsyncVectorEnv, or DummyVecEnv instead of SubprocVecEnv",
        "",
    ),
    "envs-in-processes": (
        "environments in processes",
        "AsyncVectorEnv instead of SyncVectorEnv, or SubprocVecEnv instead of DummyVecEnv",
        "",
    ),
    "flush-denormals": (
        "flush denormals",
        "torch.set_flush_denormal(True) at the start",
        ROUNDING,
    ),
    "foreach-target": (
        "foreach target update",
        "torch._foreach_mul_ and torch._foreach_add_ over all target parameters",
        ROUNDING,
    ),
    "full-precision": ("full precision", "remove autocast and GradScaler", ROUNDING),
    "fused-optimizer": ("fused optimizer", "fused=True for the optimizer", ROUNDING),
    "loader-workers=2": (
        "2 loader workers",
        "DataLoader(..., num_workers=2, persistent_workers=True)",
        DRAWS,
    ),
    "model-call": (
        "model(x) for predict",
        "np.asarray(model(x, training=False)) instead of model.predict(x)",
        ROUNDING,
    ),
    "no-gc-calls": (
        "no gc.collect",
        "remove gc.collect() and torch.cuda.empty_cache() from the loop",
        "",
    ),
    "no-recomputation": (
        "no recomputation",
        "call the module instead of torch.utils.checkpoint.checkpoint",
        "",
    ),
    "no-validation": (
        "no argument validation",
        "torch.distributions.Distribution.set_default_validate_args(False)",
        "",
    ),
    "one-array": (
        "one array",
        "torch.as_tensor(np.asarray(arrays)) instead of torch.tensor(arrays)",
        "",
    ),
    "persistent-workers": ("persistent workers", "DataLoader(..., persistent_workers=True)", ""),
    "pinned-memory": ("pinned memory", "DataLoader(..., pin_memory=True)", ""),
    "shallow-copies": (
        "shallow copies",
        "copy one level deep (dict(x), list(x)) instead of copy.deepcopy(x)",
        IF_UNCHANGED,
    ),
    "shared-memory": ("shared memory", "AsyncVectorEnv(..., shared_memory=True)", ""),
    "tensor-arguments": (
        "tensors for Python floats",
        "pass tf.constant(value) instead of a Python float to the tf.function",
        ROUNDING,
    ),
    "tf32": (
        "TF32",
        'torch.set_float32_matmul_precision("high") and cudnn.benchmark = True',
        ROUNDING,
    ),
    "threads=1": (
        "OMP_NUM_THREADS=1",
        "OMP_NUM_THREADS=1 in the environment and torch.set_num_threads(1)",
        ROUNDING,
    ),
    "weighted-choice": (
        "one cumulative sum",
        "np.searchsorted(np.cumsum(p), draws) instead of np.random.choice(p=p)",
        DRAWS,
    ),
}


def _switched(*names: str) -> tuple[Fix, ...]:
    fixes = ((switch, *_SWITCHES[switch]) for switch in names)
    return tuple(Fix(name, how, (switch,), learning=may) for switch, name, how, may in fixes)


def _less_often(phase: str, count: int, what: str) -> Fix:
    name, how = f"{phase} 1/{count} as often", f"{what} {count} times less often"
    return Fix(name, how, every=(f"{phase}={count}",), learning=LESS_SEEN)


def envs(count: int) -> Fix:
    """Another number of environments."""
    name, how = f"{count} environments", f"make {count} environments"
    return Fix(name, how, fixes=(f"envs={count}",), learning=CHANGES)


def _as_many_envs_as_cores(analysis: Analysis, finding: Finding) -> list[Fix]:
    return [envs(max(analysis.run.header.cores or 1, 1))]


_ON_THE_CPU = Fix(
    "CUDA_VISIBLE_DEVICES=",
    "train on the CPU: CUDA_VISIBLE_DEVICES= in the environment, or device='cpu'",
    environment={"CUDA_VISIBLE_DEVICES": ""},
    learning=ROUNDING,
)
_FEWER_COMMITS = Fix(
    "1/100 of the commits",
    "commit every 100 steps and at the end: all rows are kept",
    fixes=("fewer-commits=100",),
    libraries=("SQLite",),
)
_FEWER_UPDATES = Fix(
    "1/4 of the updates", "train a quarter as often", every=("learn=4",), learning=CHANGES
)

Candidates = tuple[Fix, ...] | Callable[[Analysis, Finding], list[Fix]]

#: Finding -> its fixes that need no edit, the likeliest first.
RUN_TIME: dict[str, Candidates] = {
    "thread-oversubscription": _switched("threads=1"),
    "cpu-quota": _switched("threads=1"),
    "denormals": _switched("flush-denormals"),
    "anomaly-mode": _switched("anomaly-off"),
    "gc-every-step": _switched("no-gc-calls"),
    "predict-in-loop": _switched("model-call"),
    "list-to-tensor": _switched("one-array"),
    "retracing": _switched("tensor-arguments"),
    "recompilation": _switched("dynamic-shapes", "eager"),
    "unfused-optimizer": _switched("fused-optimizer"),
    "distribution-validation": _switched("no-validation"),
    "target-update-loop": (replace(*_switched("foreach-target"), libraries=("PyTorch",)),),
    "mixed-precision-no-gain": _switched("full-precision"),
    "small-work-on-gpu": (_ON_THE_CPU,),
    "loader-bound": _switched("loader-workers=2"),
    "loader-workers-restarted": _switched("persistent-workers"),
    "checkpointing-with-memory-to-spare": _switched("no-recomputation"),
    "pageable-copies": _switched("pinned-memory"),
    "tf32-off": _switched("tf32"),
    "subprocess-overhead": _switched("envs-in-process"),
    "pickled-observations": _switched("shared-memory", "envs-in-process"),
    "serial-heavy-env": _switched("envs-in-processes"),
    "too-many-envs": _as_many_envs_as_cores,
    "single-env": (envs(8),),
    "update-ratio": (_FEWER_UPDATES,),
    "evaluation": (_less_often("evaluate", 10, "evaluate"),),
    "logging": (_FEWER_COMMITS, _less_often("log", 100, "log")),
    "checkpointing": (_less_often("checkpoint", 10, "save"),),
    "render-in-step": (_less_often("env.render", 100, "render"),),
    "deepcopy-in-step": _switched("shallow-copies"),
    "naive-priority-sampling": _switched("weighted-choice"),
    "data-loading": _switched("cached-tables"),
}


def run_time_fixes(analysis: Analysis, finding: Finding) -> list[Fix]:
    """The fixes of a finding that need no edit."""
    known = RUN_TIME.get(finding.id, ())
    fixes = known(analysis, finding) if callable(known) else known
    used = analysis.notes.libraries
    return [fix for fix in fixes if not fix.libraries or any(n in used for n in fix.libraries)]
