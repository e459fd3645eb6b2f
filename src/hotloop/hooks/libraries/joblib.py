"""joblib: a call of `Parallel` waits for its workers; it asks in turn whether they are done."""

from __future__ import annotations

from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target
from hotloop.hooks.protocols import Foreign, Region
from hotloop.hooks.wrapping import dispatch


def library(context: HookContext) -> Library:
    """The table of joblib."""
    wait = context.core.region("wait")

    def call(parallel: Foreign, *_: object) -> Region | None:
        # With one job, the work is done right here.
        return None if parallel.n_jobs in (1, None) else wait

    waits = dispatch(context, call, outermost=True)
    return Library(
        "joblib",
        "joblib",
        targets=(Target("joblib.parallel", "Parallel.__call__", "wait", wrapper=waits),),
    )
