"""torch's DataLoader: waiting for a batch, and loading it, in this process or in workers.

With workers, `next` is `data.wait` in the process that trains, and each worker's fetch is
`data.load`; with `num_workers=0`, `next` is the loading itself. Starting and stopping worker
processes, which a loader without `persistent_workers` does every epoch, is `data.workers`.
"""

from __future__ import annotations

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign, Region
from hotloop.hooks.wrapping import dispatch

_LOADER = "torch.utils.data.dataloader"
_FETCH = "torch.utils.data._utils.fetch"


def library(context: HookContext) -> Library:
    """The table of `torch.utils.data`."""
    region, gauges = context.core.region, context.profiler.gauges
    wait, load = region("data.wait"), region("data.load")

    def wait_or_load(iterator: Foreign) -> Region:
        # An evaluation's loader often has none.
        workers = max(gauges.get(schema.LOADER_WORKERS, 0.0), float(iterator._num_workers))
        gauges[schema.LOADER_WORKERS] = workers
        return wait if iterator._num_workers else load

    def count_items(_: object, fetcher: Foreign, index: Foreign) -> None:
        batched = fetcher.auto_collation and hasattr(index, "__len__")
        context.core.count(schema.LOADED_ITEMS, len(index) if batched else 1)
        if context.process is not None and context.process.unnamed:
            _name_worker(context)

    next_batch = dispatch(context, wait_or_load, outermost=True)
    return Library(
        "PyTorch DataLoader",
        "torch",
        targets=(
            Target(_LOADER, "_BaseDataLoaderIter.__next__", "data.wait", wrapper=next_batch),
            once(_FETCH, "_MapDatasetFetcher.fetch", "data.load", count_items),
            once(_FETCH, "_IterableDatasetFetcher.fetch", "data.load", count_items),
            once(_LOADER, "_MultiProcessingDataLoaderIter.__init__", "data.workers"),
            once(_LOADER, "_MultiProcessingDataLoaderIter._shutdown_workers", "data.workers"),
        ),
    )


def _name_worker(context: HookContext) -> None:
    from torch.utils.data import get_worker_info

    worker = get_worker_info()
    if worker is not None:
        context.name_process(f"DataLoader-{worker.id}", again=False)
