"""Slow data loaders: the loop waits for batches, or loads them itself."""

from __future__ import annotations

from hotloop import units
from hotloop.analyze.model import Analysis, Sample, seconds_of
from hotloop.capture import schema
from hotloop.diagnose.evidence import (
    callers,
    calls_of,
    cores,
    finding,
    gauge,
    in_package,
    inner_lines,
    of_loop,
    samples_under,
    seconds_in,
    uses,
)
from hotloop.diagnose.finding import HIGH, MEDIUM, Finding, Rule
from hotloop.phases import names_of

#: Below this share of the loop a loader is not what limits it.
LOADER_SHARE = 0.10
#: How much goes away when items are computed once: of the program's own code all but indexing, of
#: the loader's code around it nothing, or most of it where whole batches are indexed (together 0.69
#: to all of it with four programs of the frozen sets).
ITEMS_WIN, AROUND_WINS = (0.75, 0.99), (0.0, 0.9)
#: The same where the loader's own code takes most of the time, and whole batches are indexed.
BATCHES_WIN, THEIR_ITEMS_WIN = (0.75, 0.97), (0.0, 0.97)
#: With this many times the workers, and a core for each, the loop waits for nothing at most (12
#: instead of one on an H200's host: all of 70% of the loop).
MORE_WORKERS, MORE_WORKERS_WIN = 4, 0.99
#: A loader whose own code (`__getitem__`, `collate_fn`) has less than this part of the loading
#: spends the rest in torch, item by item.
OWN_CODE = 0.5
#: While the loop waits for items, every worker loads one. Workers that load for less than this part
#: of the waiting are idle, and the loop waits for batches to be handed over.
WORKERS_BUSY = 0.5

#: Phases inside a dataset that are not loading, by the beginning of their names.
NOT_LOADING = ("env.", "policy.", "buffer.", "learn")


def loader_bound(analysis: Analysis) -> list[Finding]:
    """The loop waits for a data loader, or loads its batches itself."""
    loaders = sorted({p.process for p in analysis.phases if p.name == "data.load"})
    # An epoch's last `next` stops the workers.
    waiting = _loader_s(analysis, "data.wait", "data.workers")
    # A dataset may step environments, or be a replay buffer: these are other causes.
    inline = _loader_s(analysis, "data.load", *NOT_LOADING)
    workers = [name for name in loaders if name != "main"]
    count = int(gauge(analysis, schema.LOADER_WORKERS) or 0)
    loading = sum(_loader_s(analysis, "data.load", *NOT_LOADING, process=name) for name in workers)
    # A `tf.data` pipeline has no worker processes to inspect.
    if count and loading < WORKERS_BUSY * waiting * count:
        waiting = 0.0
    # A loader with workers and one without, such as an evaluation's, are two causes.
    waits = waiting > inline
    seconds = waiting if waits else inline
    if of_loop(analysis, seconds) < LOADER_SHARE:
        return []
    loaders = workers if waits else ["main"]
    phase = "data.wait" if waits else "data.load"
    samples = samples_under(analysis, "data.load", processes=loaders)
    own = [sample for sample in samples if _is_own(sample)]
    own_share = seconds_of(own) / max(seconds_of(samples), 1e-9)
    in_items = own_share >= OWN_CODE
    batches = calls_of(analysis, phase)
    is_pipeline = waits and not workers and uses(analysis, "TensorFlow")
    # A cache would freeze what a replay buffer gives.
    replays = is_pipeline and analysis.run.env_steps > 0
    pipeline = _REPLAY if replays else _PIPELINE
    change = pipeline if is_pipeline else _ITEMS if in_items else _BATCHES
    low, high = _wins(own_share)
    if waits and count and (cores(analysis) or 0) > MORE_WORKERS * count:
        high = max(high, MORE_WORKERS_WIN)
    return [
        finding(
            analysis,
            "loader-bound",
            title=_title(of_loop(analysis, seconds), seconds / max(batches, 1), count, waits),
            phase=phase,
            seconds=seconds,
            saves=(low, high),
            confidence=HIGH if in_items else MEDIUM,
            where=inner_lines(own) if in_items else callers(analysis, phase),
            evidence={
                "batches": batches,
                "loader_workers": count,
                "workers_loading_s": loading,
                "own_code_share": own_share,
                "cores": cores(analysis),
            },
            fix=TF_REPLAY if replays else TF_DATA if is_pipeline else DATA_LOADER,
            before=change[0],
            after=change[1],
        )
    ]


def _is_own(sample: Sample) -> bool:
    """Whether the loader calls the program: what calls the loader is below it in every stack."""
    loader = [i for i, frame in enumerate(sample.frames) if _LOADER(frame)]
    inside = sample.frames[: loader[-1]] if loader else sample.frames
    return any(frame.of_program for frame in inside)


_LOADER = in_package("torch/utils/data")


def _wins(own: float) -> tuple[float, float]:
    """(least, most) part of the loading that goes away, by the share of the program's own code."""
    items, around = (ITEMS_WIN, AROUND_WINS) if own >= OWN_CODE else (THEIR_ITEMS_WIN, BATCHES_WIN)
    low, high = (own * of + (1 - own) * rest for of, rest in zip(items, around, strict=True))
    return low, high


DATA_LOADER = (
    "Compute items once, in `__init__` or cached on disk, so that `__getitem__` only indexes. If "
    "collating costs more than the data, index whole batches: tensors with a batch of indices, or "
    "`__getitems__`. Raise `num_workers` if cores are idle."
)
TF_DATA = (
    "Run the slow `map` once (`cache()`, or before the pipeline), or use TensorFlow operations "
    "on whole batches: a `py_function` holds the GIL, so running more of them in parallel does "
    "not help. For any other `map`, set `num_parallel_calls=tf.data.AUTOTUNE`."
)
TF_REPLAY = (
    "Draw larger batches from the replay buffer less often, in parallel calls, and prefetch the "
    "next batch while this one trains."
)
_REPLAY = (
    "dataset = buffer.as_dataset(sample_batch_size=64)",
    "dataset = buffer.as_dataset(sample_batch_size=256, num_parallel_calls=2).prefetch(3)",
)
_PIPELINE = (
    "dataset.map(features).batch(64)",
    "dataset.map(features).cache().shuffle(n).batch(64).prefetch(tf.data.AUTOTUNE)",
)
_ITEMS = (
    "def __getitem__(self, i):\n    return features(self.raw[i]), self.actions[i]",
    "def __init__(self, raw, actions):\n"
    "    self.features = torch.stack([features(row) for row in raw])   # once\n"
    "def __getitem__(self, i):\n"
    "    return self.features[i], self.actions[i]",
)
_BATCHES = (
    "loader = DataLoader(TensorDataset(states, actions), batch_size=256, shuffle=True)",
    "for index in torch.randperm(len(states)).split(256):\n"
    "    batch = states[index], actions[index]",
)


def _title(share: float, batch_s: float, workers: int, waits: bool) -> str:
    each = f"{units.seconds(batch_s)} per batch"
    if waits and not workers:
        return f"The loop waits for its data pipeline {share:.0%} of the time ({each})"
    if waits:
        of = f"{workers} DataLoader worker{'s' * (workers > 1)}"
        return f"The loop waits for {of} {share:.0%} of the time ({each})"
    return f"Loading batches in the training process takes {share:.0%} of the loop ({each})"


#: Starting and stopping loader workers below this share of the loop is not worth keeping them.
RESTART_SHARE = 0.05
#: How much of it persistent workers save. An estimate.
RESTART_WINS = (0.6, 1.0)


def loader_workers_restarted(analysis: Analysis) -> list[Finding]:
    """Worker processes of a data loader start and stop in every epoch."""
    seconds = seconds_in(analysis, "data.workers")
    starts = calls_of(analysis, "data.workers")
    if of_loop(analysis, seconds) < RESTART_SHARE or starts < 2:
        return []
    return [
        finding(
            analysis,
            "loader-workers-restarted",
            title=f"Starting and stopping DataLoader workers every epoch takes "
            f"{of_loop(analysis, seconds):.0%} of the loop",
            phase="data.workers",
            seconds=seconds,
            saves=RESTART_WINS,
            confidence=HIGH,
            where=callers(analysis, "data.workers"),
            evidence={"starts_and_stops": starts},
            fix="Keep the workers between epochs: `persistent_workers=True`. With few, short "
            "epochs, `num_workers=0` may be faster still.",
            before="DataLoader(dataset, num_workers=2)",
            after="DataLoader(dataset, num_workers=2, persistent_workers=True)",
        )
    ]


def _loader_s(analysis: Analysis, phase: str, *inside: str, process: str = "main") -> float:
    """Time in a loader's phase without the outermost phases inside it that begin like these."""
    others = 0.0
    for each in analysis.phases_of.get(process, ()):
        *above, name = names_of(each.path)
        if phase in above and name.startswith(inside):
            others += each.total_s * (not any(part.startswith(inside) for part in above))
    return max(seconds_in(analysis, phase, process=process) - others, 0.0)


RULES: tuple[Rule, ...] = (loader_bound, loader_workers_restarted)
