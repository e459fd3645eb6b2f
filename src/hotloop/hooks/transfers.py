"""Tensors that go from one device to another, and from a device to Python.

`item`, `tolist` and `numpy` read a tensor from Python, `cpu`, `cuda` and `to` move it; `float(t)`,
`int(t)`, `bool(t)` and `if t:` read it without saying so. On a CPU tensor they take less than a
region would, so they are only counted; on any other device the call waits for everything before it
and is timed as `transfer`. All of them come through `Moves.seen`, which also keeps the line of the
program that they came from.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any

from hotloop import get_profiler, words
from hotloop.hooks.program_files import is_program_file
from hotloop.measure.core import native_parts

#: Lines of the program that are told apart, and those that the capture names.
MOST_LINES, LINES_NOTED = 512, 20
#: How far up a stack the program is looked for.
_DEEPEST = 40


def _nothing() -> None:
    """Stands in until somebody wants to know."""


class Lines:
    """Counts transfers, bytes and the waits that they mean, each with the line that asked for it.

    The native core has the same as `Transfers` (`measure/native/transfers.c`).
    """

    def __init__(
        self,
        core: Any,
        region: Any,
        is_own: Callable[[str], bool],
        first: Callable[[], object],
    ) -> None:
        self._count = core.count
        self._is_own_file, self._first = is_own, first
        self.only_cpu = True
        #: (what, id of the code, instruction) -> [transfers, bytes, waits]. A code's own hash goes
        #: through all that it holds.
        self._lines: dict[tuple[str, int, int], list[int]] = {}
        #: Id -> (the code itself, whether it is the program's own).
        self._codes: dict[int, tuple[CodeType, bool]] = {}

    def seen(self, what: str, size: int, waits: bool) -> None:
        """A tensor went to another device, or from one to Python."""
        if self.only_cpu:
            self.only_cpu = False
            self._first()
        self._count(words.TRANSFERS, 1)
        self._count(words.TRANSFER_BYTES, size)
        if waits:
            self._count(words.SYNCS, 1)
        self._keep_line(what, 1, size, waits)

    def waited(self, what: str) -> None:
        """The program waited for a device, and nothing was moved."""
        self._count(words.SYNCS, 1)
        self._keep_line(what, 0, 0, True)

    def _keep_line(self, what: str, moved: int, size: int, waits: bool) -> None:
        frame: FrameType | None = sys._getframe(1)
        for _ in range(_DEEPEST):
            if frame is None:
                return
            if self._is_own(frame.f_code):
                break
            frame = frame.f_back
        else:
            return
        # The line itself takes long to find out; the instruction says it later.
        key = (what, id(frame.f_code), frame.f_lasti)
        known = self._lines.get(key)
        if known is None:
            if len(self._lines) >= MOST_LINES:
                return
            known = self._lines[key] = [0, 0, 0]
        known[0] += moved
        known[1] += size
        known[2] += waits

    def _is_own(self, code: CodeType) -> bool:
        known = self._codes.get(id(code))
        if known is None:
            known = self._codes[id(code)] = (code, self._is_own_file(code.co_filename))
        return known[1]

    def lines(self) -> list[tuple[str, CodeType, int, int, int, int]]:
        """[(what, code, instruction, transfers, bytes, waits)] of all that was seen."""
        return [
            (what, self._codes[code][0], at, moved, size, waits)
            for (what, code, at), (moved, size, waits) in list(self._lines.items())
        ]


class Moves:
    """What is known of transfers, and what a capture says of them."""

    def __init__(self) -> None:
        self.core = core = get_profiler().core
        self.count = core.count
        self.region = core.region("transfer")
        #: Called once, when the first tensor was seen on another device.
        self.at_first: Callable[[], None] = _nothing
        #: What counts reads on the processor in the native core.
        self.readers: list[Any] = []
        native = native_parts(core)
        kind = Lines if native is None else native.Transfers
        self.kept: Any = kind(core, self.region, is_program_file, self._first)
        self.seen, self.waited = self.kept.seen, self.kept.waited
        self._said = 0
        self._noted: list[list[Any]] = []

    @property
    def only_cpu(self) -> bool:
        """Until a tensor was seen on another device, reading one from Python is the transfer."""
        return bool(self.kept.only_cpu)

    def _first(self) -> None:
        for reader in self.readers:
            reader.counts = False
        self.at_first()

    def notes(self) -> dict[str, Any]:
        """Lines of the program that move the most; said again only when there are far more."""
        kept = self.kept.lines()
        if not kept:
            return {}
        whole = sum(moved + waits for *_, moved, _, waits in kept)
        if whole >= 2 * self._said:
            self._said, self._noted = max(whole, 1), self.lines()
        return {"transfer_lines": self._noted}

    def say_again(self) -> None:
        """Let the next note be of all that was counted."""
        self._said = 0

    def lines(self) -> list[list[Any]]:
        """[file, line, function, what, transfers, bytes, waits] as it is now, the most first."""
        totals: dict[tuple[str, int, str, str], list[int]] = {}
        for what, code, at, *figures in self.kept.lines():
            key = (code.co_filename, _line_of(code, at), code.co_name, what)
            total = totals.setdefault(key, [0, 0, 0])
            for i, figure in enumerate(figures):
                total[i] += figure
        ordered = sorted(totals.items(), key=lambda item: (-item[1][0] - item[1][2], -item[1][1]))
        return [[*key, *figures] for key, figures in ordered[:LINES_NOTED]]


def _line_of(code: CodeType, instruction: int) -> int:
    for begin, end, line in code.co_lines():
        if begin <= instruction < end and line is not None:
            return line
    return code.co_firstlineno


moves = Moves()


def _read(original: Callable[..., Any], what: str, can_leave: bool) -> Callable[..., Any]:
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
        seen(what, self.nbytes, True)
        return result

    reader = _short(original, read, what, can_leave, words.TRANSFERS)
    if reader is not read:
        reader.counts = moves.only_cpu
        moves.readers.append(reader)
    return reader  # type: ignore[no-any-return]


def _short(
    original: Callable[..., Any],
    hook: Callable[..., Any],
    what: str,
    can_leave: bool = True,
    counter: str | None = None,
    here: Any = None,
    reads: bool = True,
) -> Any:
    """`hook`, with a native way around it for most tensors.

    For those on the processor that stay there (`here` is its device, where the method is told where
    to go), and for those elsewhere.
    """
    native = native_parts(moves.core)
    if native is None:
        return hook
    usual = "is_cpu" if can_leave else None
    return native.Shortcut(
        moves.core, original, hook, usual, counter, here, moves.kept, what, reads
    )


def _read_silently(original: Callable[..., Any], what: str) -> Callable[..., Any]:
    """`float(t)`, `bool(t)` and the like: there is no word of it in the program."""
    region, seen = moves.region, moves.seen

    @functools.wraps(original)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_cpu or self.is_meta:
            return original(self, *args, **kwargs)
        region.enter()
        try:
            result = original(self, *args, **kwargs)
        finally:
            region.exit()
        seen(what, self.nbytes, True)
        return result

    return _short(original, read, what)  # type: ignore[no-any-return]


def _move(
    original: Callable[..., Any], what: str, away: Callable[..., bool], device: type
) -> Callable[..., Any]:
    """`cpu`, `cuda`, `to`: timed if the tensor is elsewhere or is to go there."""
    region, seen = moves.region, moves.seen

    @functools.wraps(original)
    def move(self: Any, *args: Any, **kwargs: Any) -> Any:
        if self.is_cpu and not away(args, kwargs):
            return original(self, *args, **kwargs)
        if args and type(args[0]) is device and args[0] == self.device:
            return original(self, *args, **kwargs)  # it is there already
        region.enter()
        try:
            result = original(self, *args, **kwargs)
        finally:
            region.exit()
        if result.device != self.device:
            # A copy to the CPU waits for what it copies.
            seen(what, self.nbytes, result.is_cpu and not kwargs.get("non_blocking"))
        return result

    if away is _always:
        return move
    here = None if away is _never else device("cpu")
    return _short(original, move, what, here=here, reads=False)  # type: ignore[no-any-return]


def _wait(original: Callable[..., Any], what: str) -> Callable[..., Any]:
    """`torch.cuda.synchronize`, when it is the program that calls it."""
    import threading

    @functools.wraps(original)
    def wait(*args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        if threading.current_thread().name != "hotloop-device":
            moves.waited(what)
        return result

    return wait


def _never(args: Any, kwargs: Any) -> bool:
    return False


def _always(args: Any, kwargs: Any) -> bool:
    return True


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


def can_leave_cpu(torch: Any) -> bool:
    """Whether this torch was built for anything but the CPU.

    Asking whether a device is there would start its driver, after which a program cannot fork.
    """
    version, backends = torch.version, torch.backends
    if getattr(version, "cuda", None) or getattr(version, "hip", None):
        return True
    return bool(getattr(version, "xpu", None) or backends.mps.is_built())


#: What each silent read is called in a report.
_SILENT = {
    "__float__": "float(t)",
    "__int__": "int(t)",
    "__bool__": "bool(t)",
    "__index__": "t as an index",
}


def put_on() -> Callable[[], None]:
    """Hook the methods of `torch.Tensor`; they are inherited from a class that cannot change."""
    import torch

    can_leave = can_leave_cpu(torch)
    wrappers: dict[str, Callable[[Any], Callable[..., Any]]] = {
        name: functools.partial(_read, what=f".{name}()", can_leave=can_leave)
        for name in ("item", "tolist", "numpy")
    }
    undo: list[Callable[[], None]] = []
    if can_leave:
        away = _goes_away(torch.device)
        moving = functools.partial(_move, device=torch.device)
        wrappers["cpu"] = functools.partial(moving, what=".cpu()", away=_never)
        wrappers["cuda"] = functools.partial(moving, what=".cuda()", away=_always)
        wrappers["to"] = functools.partial(moving, what=".to()", away=away)
        for name, what in _SILENT.items():
            wrappers[name] = functools.partial(_read_silently, what=what)
        undo.append(_replace(torch.cuda, "synchronize", _wait, "torch.cuda.synchronize()"))
    on = [name for name in wrappers if name not in vars(torch.Tensor)]
    for name in on:
        setattr(torch.Tensor, name, wrappers[name](getattr(torch.Tensor, name)))

    def take_off() -> None:
        moves.readers.clear()
        for name in on:
            delattr(torch.Tensor, name)
        for call in undo:
            call()

    return take_off


def _replace(owner: Any, name: str, wrapper: Any, what: str) -> Callable[[], None]:
    original = getattr(owner, name)
    setattr(owner, name, wrapper(original, what))
    return lambda: setattr(owner, name, original)
