"""The phase of `load_state_dict` in processes that the program started.

A process that learns copies weights into its target network. A process that does not learn receives
weights from a learner, through a queue, a pipe or an object store.
"""

from __future__ import annotations

from hotloop.analyze.renamed import renamed
from hotloop.capture.growing import Shard
from hotloop.phases import LOADED, name_at

TARGET, RECEIVED = "learn.target", "sync.weights"


def name_weights(shard: Shard) -> Shard:
    """The shard with the loading of weights under its name."""
    names = {name_at(path) for window in shard.windows for path in window.phases}
    if LOADED not in names:
        return shard
    name = TARGET if "learn.optimizer" in names else RECEIVED
    return renamed(shard, LOADED, name)
