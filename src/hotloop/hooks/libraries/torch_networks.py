"""Calls of torch's networks: the outermost `Module.__call__` is timed, as acting or as learning.

`measure/native/networks.c` decides which; a table that knows better puts a class into the context's
`module_phases`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import FunctionType

from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.networks import tensor_batch_size
from hotloop.hooks.protocols import Foreign, Function, Region


def hook_networks(context: HookContext, original: Function) -> Function:
    """`Module.__call__`, whose outermost calls the native module times where they are."""
    import torch

    flow = context.flow
    if flow.native is None or not isinstance(original, FunctionType):
        return original

    # Without this, a tensor subclass of the program would see hotloop's reads.
    unheard = getattr(torch._C, "DisableTorchFunctionSubclass", nullcontext)

    def phase_of(kind: type) -> Region | Callable[[Foreign], int | None] | None:
        for base in kind.__mro__:
            chooser = context.module_choosers.get(f"{base.__module__}.{base.__qualname__}")
            if chooser is not None:
                return chooser
            phase = context.module_phases.get(base)
            if phase is not None:
                flow.named.add(phase)
                return context.core.region(phase)
        return None

    def show(event: int, result: object) -> None:
        with unheard():
            for watch in context.output_watchers:
                watch(event, result)

    def batch_size(values: tuple[Foreign, ...]) -> int:
        with unheard():
            return tensor_batch_size(values)

    networks = flow.native.Networks(
        flow.order,
        context.updates,
        phase_of,
        batch_size,
        torch.is_grad_enabled,
        show,
        _listeners(),
        torch.Tensor,
    )
    function: Foreign = torch.nn.Module.__call__
    if context.core.original(function) is not original:
        function = original  # it is altered
    networks.take(function)
    flow.skipped, flow.give_networks_back = networks.skipped, networks.give_back
    return original


def _listeners() -> tuple[Callable[[], object], ...]:
    """True while a torch function mode or a trace of the program would see reads of a tensor."""
    import torch

    names = ("_len_torch_function_stack", "_is_tracing")
    return tuple(getattr(torch._C, name) for name in names if hasattr(torch._C, name))
