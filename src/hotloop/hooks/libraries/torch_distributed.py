"""torch.distributed: collectives are `comm`, and so is what DDP's backward pass waits for.

A collective that the program or a library calls (such as FSDP's) is a region. DDP reduces gradients
inside the backward pass, in native code. Its own clock measures when the pass had its last gradient
ready; the time after that is waiting for the reduction. DDP times its first ten iterations and then
one in 100, or at the rate that the program sets. The duration of a reduction varies by a factor of
ten between iterations, so one in 100 says little; the computing time of a pass varies little unless
a reduction takes its core. So both are recorded: the waiting of the last timed pass, and the lower
quartile of the computing times.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Foreign
from hotloop.hooks.wrapping import observe

_C10D = "torch.distributed.distributed_c10d"
_DDP = "torch.nn.parallel.distributed"

_COLLECTIVES = (
    "all_gather", "all_gather_coalesced", "all_gather_into_tensor", "all_gather_object",
    "all_gather_single", "all_reduce", "all_reduce_coalesced", "all_to_all", "all_to_all_single",
    "barrier", "monitored_barrier", "batch_isend_irecv", "broadcast", "broadcast_object_list",
    "gather", "gather_object", "isend", "irecv", "recv", "recv_object_list", "reduce",
    "reduce_scatter", "reduce_scatter_single", "reduce_scatter_tensor", "scatter",
    "scatter_object_list", "send", "send_object_list",
)  # fmt: skip

#: Iterations that DDP times one after the other when it starts.
_TIMED_AT_FIRST = 10
#: Iterations between two reads of DDP's times after that: a read copies all that DDP logs.
_BETWEEN_READS = 10
_REDUCED = "backward_comm_time_end"
#: DDP's clock begins with the end of the forward pass: computing includes that of the loss.
_BEGAN, _COMPUTED = "backward_compute_time_start", "backward_compute_time_end"
#: Timed passes whose lower quartile is taken, the last ones.
_MOST_TIMED = 64


def library(context: HookContext) -> Library:
    """The table of torch.distributed."""
    waits = DistributedBackward(context)
    return Library(
        "torch.distributed",
        "torch",
        targets=(
            *(once(_C10D, name, "comm", optional=True) for name in _COLLECTIVES),
            # Collectives with `async_op=True` are waited for here.
            once(_C10D, "Work.wait", "comm", optional=True),
            # DDP's broadcast of running means and the like, before a forward pass.
            once(_DDP, "DistributedDataParallel._sync_buffers", "comm", optional=True),
            Target(
                _DDP,
                "DistributedDataParallel._pre_forward",
                "",
                wrapper=observe(context, after=waits.before_forward),
                optional=True,
            ),
        ),
    )


@dataclass
class _Reduction:
    """What is known of one model's reductions."""

    iterations: int = 0
    #: When the last one had computed that DDP timed, on DDP's clock.
    computed_ns: int = 0
    #: How long passes that DDP timed computed.
    computing_ns: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST_TIMED))
    typical_ns: int = 0
    #: How long the last of them waited for its reduction.
    waited_ns: int = 0

    def take(self, began: int, computed: int, reduced: int) -> None:
        """The times of the last pass that DDP timed, which may be known already."""
        if computed > self.computed_ns:
            self.computed_ns = computed
            self.computing_ns.append(computed - began)
            self.typical_ns = sum(self.computing_ns) // len(self.computing_ns)
            self.waited_ns = max(reduced - computed, 0)


class DistributedBackward:
    """How long backward passes of DDP computed, and waited for gradients to be reduced."""

    def __init__(self, context: HookContext) -> None:
        self._core = context.core
        self._reductions: WeakKeyDictionary[Foreign, _Reduction] = WeakKeyDictionary()

    def before_forward(self, _: object, model: Foreign, *__: object, **___: object) -> None:
        """A forward pass begins, and DDP has the times of the iteration before."""
        if not sys.modules["torch"].is_grad_enabled():
            return
        known = self._reductions.get(model)
        if known is None:
            self._reductions[model] = _Reduction()
            return
        known.iterations += 1
        if known.iterations <= _TIMED_AT_FIRST or known.iterations % _BETWEEN_READS == 0:
            times = model.logger._get_ddp_logging_data().ints_map
            known.take(times.get(_BEGAN, 0), times.get(_COMPUTED, 0), times.get(_REDUCED, 0))
        if known.computed_ns:
            self._core.count(schema.DDP_BACKWARD_S, known.typical_ns / 1e9)
            if model.require_backward_grad_sync:
                self._core.count(schema.BACKWARD_COMM_S, known.waited_ns / 1e9)
