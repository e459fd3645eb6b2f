"""Tensors that go from one device to another, and from a device to Python.

`item`, `tolist` and `numpy` read a tensor from Python, `cpu` and `to` move it. On a CPU tensor they
take less than a region would, so they are only counted; on any other device the call waits for
everything before it and is timed as `transfer`. All of them come through `Moves.seen`: what else is
to be known of a transfer (where in the program it was) belongs there.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from hotloop import get_profiler, words


class Moves:
    """Counts transfers, bytes and the waits that they mean."""

    def __init__(self) -> None:
        core = get_profiler().core
        self.count = core.count
        self.region = core.region("transfer")
        #: Until a tensor was seen on another device, reading one from Python is the transfer.
        self.only_cpu = True

    def seen(self, tensor: Any, waits: bool) -> None:
        """A tensor went to another device, or from one to Python."""
        self.only_cpu = False
        count = self.count
        count(words.TRANSFERS, 1)
        count(words.TRANSFER_BYTES, tensor.nbytes)
        if waits:
            count(words.SYNCS, 1)


moves = Moves()


def _read(original: Callable[..., Any]) -> Callable[..., Any]:
    """`item`, `tolist`, `numpy`."""
    count, region, seen = moves.count, moves.region, moves.seen

    @functools.wraps(original)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_cpu:
            if moves.only_cpu:
                count("transfers", 1)
            return original(self, *args, **kwargs)
        region.enter()
        try:
            result = original(self, *args, **kwargs)
        finally:
            region.exit()
        seen(self, True)
        return result

    return read


def _move(original: Callable[..., Any], away: Callable[..., bool]) -> Callable[..., Any]:
    """`cpu`, `to`: timed if the tensor is elsewhere or is to go there."""
    region, seen = moves.region, moves.seen

    @functools.wraps(original)
    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_cpu and not away(args, kwargs):
            return original(self, *args, **kwargs)
        region.enter()
        try:
            result = original(self, *args, **kwargs)
        finally:
            region.exit()
        if result.device != self.device:
            # A copy to the CPU waits for what it copies.
            seen(self, result.is_cpu and not kwargs.get("non_blocking"))
        return result

    return move


def _never(args: Any, kwargs: Any) -> bool:
    return False


def _goes_away(device: type) -> Callable[[Any, Any], bool]:
    """Whether the arguments of `Tensor.to` name another device than the CPU."""

    def goes_away(args: Any, kwargs: Any) -> bool:
        target = args[0] if args else kwargs.get("device")
        kind = type(target)
        if kind is device:
            return bool(target.type != "cpu")
        if kind is str:
            return not target.startswith("cpu")
        # A number is a device's; a tensor is where it is; a dtype is nowhere.
        return kind is int or not getattr(target, "is_cpu", True)

    return goes_away


def _can_leave(torch: Any) -> bool:
    """Whether this torch was built for anything but the CPU.

    Asking whether a device is there would start its driver, after which a program cannot fork.
    """
    version, backends = torch.version, torch.backends
    if getattr(version, "cuda", None) or getattr(version, "hip", None):
        return True
    return bool(getattr(version, "xpu", None) or backends.mps.is_built())


def put_on() -> Callable[[], None]:
    """Hook the methods of `torch.Tensor`; they are inherited from a class that cannot change."""
    import torch

    wrappers: dict[str, Callable[[Any], Callable[..., Any]]] = {
        "item": _read,
        "tolist": _read,
        "numpy": _read,
        "cpu": functools.partial(_move, away=_never),
        "to": functools.partial(_move, away=_goes_away(torch.device)),
    }
    if not _can_leave(torch):
        del wrappers["cpu"], wrappers["to"]
    on = [name for name in wrappers if name not in vars(torch.Tensor)]
    for name in on:
        setattr(torch.Tensor, name, wrappers[name](getattr(torch.Tensor, name)))

    def take_off() -> None:
        for name in on:
            delattr(torch.Tensor, name)

    return take_off
