"""PyTorch: serves every library that is built on it, and programs without a library.

`torch.compile` sees the functions without their hooks: compiled graphs stay as they are.
"""

from __future__ import annotations

import functools

from hotloop.hooks.context import HookContext
from hotloop.hooks.libraries.torch_networks import hook_networks
from hotloop.hooks.library import Library, Target, once
from hotloop.hooks.protocols import Function, Region, Undo, Wrapper
from hotloop.hooks.telemetry import transfers
from hotloop.hooks.wrapping import dispatch
from hotloop.measure.core import Core
from hotloop.phases import LOADED


def library(context: HookContext) -> Library:
    """The table of PyTorch."""
    updates, prepared = context.updates, context.order.prepared

    def time_step(original: Function) -> Function:
        region = context.core.region("learn.optimizer")
        return region.wrap(original, after=updates.after_step, outermost=True)

    def of_another_process(*_: object, **__: object) -> Region | None:
        process = context.process
        return loads if process is not None and process.role != "main" else None

    loads = context.core.region(LOADED)
    received = dispatch(context, of_another_process, outermost=True)
    networks = functools.partial(hook_networks, context)
    whole_step = functools.partial(_time_whole_step, context, time_step)
    return Library(
        title="PyTorch",
        distribution="torch",
        targets=(
            Target("torch", "nn.Module.__call__", "learn.forward", wrapper=networks),
            # `Tensor.backward` ends here too.
            once("torch", "autograd.backward", "learn.backward", updates.after_backward),
            once("torch", "autograd.grad", "learn.backward", updates.after_backward),
            Target(
                "torch",
                "optim.Optimizer.step",
                "learn.optimizer",
                overrides=True,
                wrapper=time_step,
            ),
            Target(
                "torch",
                "optim.Optimizer.profile_hook_step",
                "learn.optimizer",
                wrapper=whole_step,
                optional=True,
            ),
            once("torch", "optim.Optimizer.zero_grad", "learn.optimizer", prepared),
            once("torch", "nn.utils.clip_grad.clip_grad_norm_", "learn.optimizer", prepared),
            once("torch", "nn.utils.clip_grad_norm_", "learn.optimizer", prepared),
            once("torch", "nn.utils.clip_grad.clip_grad_value_", "learn.optimizer", prepared),
            once("torch", "nn.utils.clip_grad_value_", "learn.optimizer", prepared),
            once("torch", "save", "checkpoint"),
            Target("torch", "nn.Module.load_state_dict", LOADED, wrapper=received),
        ),
        setup=functools.partial(_setup, context),
    )


def _setup(context: HookContext) -> Undo:
    try:
        reads = transfers.install(context)
    except Exception:
        context.flow.give_networks_back()
        raise

    def undo() -> None:
        context.flow.give_networks_back()
        reads()

    return undo


def _time_whole_step(
    context: HookContext, time_step: Wrapper, profile_hook_step: Function
) -> Function:
    """torch puts a wrapper of its own around each optimizer's step: time that too.

    The step inside is hooked as well, because `torch.compile` removes torch's wrapper.
    """

    def hook(step: Function) -> object:
        whole = profile_hook_step(step)
        detach = Core.attach(whole, time_step, True)
        if detach is not None:
            context.undo.append(detach)
        return whole

    return hook
