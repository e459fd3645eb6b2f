"""PyTorch: serves every library that is built on it, and programs without a library.

Networks are timed by the outermost `Module.__call__`, as acting or as learning (`plain_loop` tells
which); a table that knows better puts a class into `module_phases`. Wrappers that `torch.compile`
may look into begin by asking whether it does: compiled graphs stay as they are.
"""

from __future__ import annotations

import functools
import sys
import threading
from collections.abc import Callable
from typing import Any

from hotloop import get_profiler
from hotloop.hooks import transfers
from hotloop.hooks.batch import batch, watch
from hotloop.hooks.plain_loop import ACT, FORWARD, flow
from hotloop.hooks.standin import AROUND
from hotloop.hooks.table import Library, Place, Wrapper

#: Classes of modules whose outermost call is a phase of its own, subclasses included.
module_phases: dict[type, str] = {}

#: What watchers are told of an answer inside a phase that chooses an action; no event of the flow.
ACT_INSIDE = -1

#: A network called inside one of these is a part of it, and is not timed again.
WHOLE_PHASES = ("policy.act", "learn.forward", "learn.loss", "learn.backward", "advantage")

_core = get_profiler().core
_is_open = _core.is_open
_innermost = _core.innermost
_act = _core.region("policy.act")
_forward = _core.region("learn.forward")
_backward = _core.region("learn.backward")
_optimizer = _core.region("learn.optimizer")
happened = flow.happened
get_ident = threading.get_ident


def _not_compiling() -> bool:
    """Stands in where a version of torch cannot say whether it is compiling."""
    return False


def _is_compiling() -> Callable[[], bool]:
    """What `torch.compile` knows to be true inside the graph that it makes."""
    import torch

    compiler = getattr(torch, "compiler", None)
    for name in ("is_dynamo_compiling", "is_compiling"):
        if hasattr(compiler, name):
            return getattr(compiler, name)  # type: ignore[no-any-return]
    return _not_compiling


# -- networks --


def _time_modules(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Module.__call__` with its outermost call in a phase.

    A network calls dozens of modules, so what an inner call costs is what this costs: the native
    core takes torch's function over where it stands (`native/networks.c`).
    """
    import torch

    is_compiling = _is_compiling()
    what_for = _purposes(torch.is_grad_enabled)
    calls: dict[Purpose, Callable[..., Any]] = {PART: original}

    def known_purpose(self: Any, args: Any, kwargs: Any) -> Purpose:
        try:
            return what_for(self, args, kwargs, _innermost())
        except Exception as error:
            # A `shape` of its own kind, say. The call is the program's all the same.
            _core.failures["PyTorch: what a network is called for"] = repr(error)
            return PART

    def outermost(self: Any, args: Any, kwargs: Any) -> Any:
        if is_compiling():
            return original(self, *args, **kwargs)
        purpose = known_purpose(self, args, kwargs)
        call = calls.get(purpose)
        if call is None:
            region, kind = purpose
            after = None if kind is None else _tell(kind)
            call = region.wrap(original, after=after) if region else _shown(original)
            calls[purpose] = call
        return call(self, *args, **kwargs)

    if original is torch.nn.Module.__call__ and flow.take_networks(
        original,
        tuple(map(_core.region, WHOLE_PHASES)),
        _by_class,
        batch,
        torch.is_grad_enabled,
        outermost,
        is_short=set(original.__code__.co_names) == {"_compiled_call_impl", "_call_impl"},
    ):
        return original
    return _stand_in_for_modules(original, outermost)


class _Inside(threading.local):
    network = False


def _stand_in_for_modules(
    original: Callable[..., Any], outermost: Callable[..., Any]
) -> Callable[..., Any]:
    """What the Python core, and a call that is altered, have in the place of `Module.__call__`."""
    is_compiling = _is_compiling()
    inside = _Inside()

    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_compiling() or inside.network or not _core.enabled:
            return original(self, *args, **kwargs)
        inside.network = True
        try:
            return outermost(self, args, kwargs)
        finally:
            inside.network = False

    return call


#: What a network's outermost call is: its region, and the event that it is for the flow.
Purpose = tuple[Any, "int | None"]
PART: Purpose = (None, None)  # of a phase that is open already
PART_OF_ACT: Purpose = (None, ACT_INSIDE)  # of an agent's own method that chooses an action
ACTS_INSIDE: Purpose = (_act, None)  # a library's rollout, or an environment
ACTS: Purpose = (_act, ACT)
LEARNS: Purpose = (_forward, FORWARD)


def _shown(original: Callable[..., Any]) -> Callable[..., Any]:
    """A call inside an agent's `act`, which is timed and told: only its answer is looked at."""

    def call(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        try:
            for saw in watch:
                saw(ACT_INSIDE, result)
        except Exception as error:
            _core.failures["PyTorch: what a network answers in an act"] = repr(error)
        return result

    return call


def _tell(kind: int) -> Callable[..., None]:
    """Tells the flow, and who else watches, what a network has answered."""

    def tell(result: Any, *_: Any, **__: Any) -> None:
        happened(kind)
        for saw in watch:
            saw(kind, result)

    return tell


def _purposes(is_grad_enabled: Callable[[], bool]) -> Callable[[Any, Any, Any, Any], Purpose]:
    """Tells what a network is called for."""

    def what_for(module: Any, args: Any, kwargs: Any, inside: str | None) -> Purpose:
        if inside is not None and _is_open(*WHOLE_PHASES):
            return PART_OF_ACT if _is_open("policy.act") else PART
        kind = type(module)
        region = _by_class.get(kind, kind)
        if region is kind:
            region = _by_class[kind] = _named_by_class(kind)
        if region is not None:
            flow.named.add(region.name)
            return region, None
        if inside is not None:
            if inside == "learn" and batch.told:
                return LEARNS
            if _is_open("env.step", "env.reset"):
                return ACTS_INSIDE  # an opponent, or a model of the world
        gradients = is_grad_enabled()
        rows = _rows(args, kwargs)
        if flow.purpose(id(module), gradients, rows, inside) == ACT:
            return ACTS
        if gradients:
            batch.forward(id(module), rows)
        return LEARNS

    return what_for


#: Region of each class of module that was called, or None.
_by_class: dict[type, Any] = {}


def _named_by_class(kind: type) -> Any:
    for base in kind.__mro__:
        if base in module_phases:
            return _core.region(module_phases[base])
    return None


def _rows(args: Any, kwargs: Any) -> int:
    """How many rows a network was given: the first dimension of its first tensor."""
    for value in args or kwargs.values():
        while isinstance(value, (dict, list, tuple)) and value:
            value = next(iter(value.values())) if isinstance(value, dict) else value[0]
        shape = getattr(value, "shape", None)
        if shape is not None:
            # A symbol of torch's exporters must not be turned into a number.
            return (shape[0] or 1) if len(shape) > 1 and type(shape[0]) is int else 1
    return 1


# -- gradients --


#: Where a hook keeps itself and the function behind it; a copy of its attributes has another's.
_BEHIND = "__hotloop_behind__"


def _behind(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function behind such a hook; any other function as it is."""
    hook, original = getattr(function, _BEHIND, (None, function))
    return original if hook is function else function


def _traceable(region: Any, after: Callable[..., None]) -> Wrapper:
    """A region around a function that `torch.compile` may look into."""

    def wrapper(original: Callable[..., Any]) -> Callable[..., Any]:
        is_compiling = _is_compiling()
        # A function that calls itself again (an optimizer its parent's step) is one call.
        timed = region.wrap(original, after=after, outermost=True)

        @functools.wraps(original)
        def call(*args: Any, **kwargs: Any) -> Any:
            if is_compiling():
                return original(*args, **kwargs)
            return timed(*args, **kwargs)

        setattr(call, _BEHIND, (call, original))
        return call

    return wrapper


#: What TorchScript was told of. It knows these by their addresses, which nothing else may have.
_told: list[Any] = []


def tell_torchscript(hook: Any, name: str) -> None:
    """TorchScript knows torch's functions by what they are: this one is the same."""
    builtins = sys.modules.get("torch.jit._builtins")
    register = getattr(builtins, "_register_builtin", None)
    if register is not None:
        _told.append(hook)
        register(hook, f"aten::{name}")


def _time_backward(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Tensor.backward` ends here too, before which `torch.compile` ends its graph in any case."""
    timed: Callable[..., Any] = _backward.wrap(original, after=batch.after_backward, outermost=True)
    tell_torchscript(timed, "backward")
    return timed


def _time_grad(original: Callable[..., Any]) -> Callable[..., Any]:
    timed = _traceable(_backward, batch.after_backward)(original)
    tell_torchscript(timed, "grad")
    return timed


_time_step = _traceable(_optimizer, batch.after_step)
_time_rest = _traceable(_optimizer, flow.prepared)


def _time_whole_step(profile_hook_step: Callable[..., Any]) -> Callable[..., Any]:
    """torch puts a wrapper of its own around each optimizer's step: time that too.

    The step inside is hooked as well, because `torch.compile` takes torch's wrapper off (by its
    `__wrapped__`, which is therefore the step itself).
    """

    def hook(step: Callable[..., Any]) -> Callable[..., Any]:
        whole = _time_step(profile_hook_step(_behind(step)))
        whole.__wrapped__ = step  # type: ignore[attr-defined]
        setattr(whole, AROUND, step)
        return whole

    return hook


def _setup() -> Callable[[], None]:
    try:
        reads = transfers.put_on()
    except Exception:
        flow.give_networks_back()
        raise

    def undo() -> None:
        flow.give_networks_back()
        reads()

    return undo


LIBRARY = Library(
    title="PyTorch",
    distribution="torch",
    places=(
        Place("torch", "nn.Module.__call__", "learn.forward", wrapper=_time_modules),
        Place("torch", "autograd.backward", "learn.backward", wrapper=_time_backward),
        Place("torch", "autograd.grad", "learn.backward", wrapper=_time_grad),
        Place(
            "torch", "optim.Optimizer.step", "learn.optimizer", overrides=True, wrapper=_time_step
        ),
        Place(
            "torch",
            "optim.Optimizer.profile_hook_step",
            "learn.optimizer",
            wrapper=_time_whole_step,
            optional=True,
        ),
        Place("torch", "optim.Optimizer.zero_grad", "learn.optimizer", wrapper=_time_rest),
        # Home first: the names below it are the same function, bound once more.
        Place("torch", "nn.utils.clip_grad.clip_grad_norm_", "learn.optimizer", wrapper=_time_rest),
        Place("torch", "nn.utils.clip_grad_norm_", "learn.optimizer", wrapper=_time_rest),
        Place(
            "torch", "nn.utils.clip_grad.clip_grad_value_", "learn.optimizer", wrapper=_time_rest
        ),
        Place("torch", "nn.utils.clip_grad_value_", "learn.optimizer", wrapper=_time_rest),
        Place("torch", "save", "checkpoint", outermost=True),
    ),
    setup=_setup,
)
