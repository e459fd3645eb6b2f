"""Transfers of tensors between devices, and from a device to Python.

`item`, `tolist` and `numpy` read a tensor from Python; `cpu`, `cuda` and `to` move it; `float(t)`,
`int(t)`, `bool(t)` and `if t:` read it implicitly. On a CPU tensor they take less than a region
would, so they are only counted; on any other device the call waits for everything before it and is
timed as `transfer`, with the source line that called it. The native module does all of this
(`measure/native/tensor_methods.c` and `transfers.c`); without it these methods are not hooked.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType
from typing import TYPE_CHECKING

from hotloop.capture.schema import Notes
from hotloop.hooks.program.files import is_program_file
from hotloop.hooks.protocols import Foreign, Function, Undo, Wrapper
from hotloop.hooks.wrapping import observe, put_hook
from hotloop.measure.core import native_parts
from hotloop.measure.own_threads import in_own_thread

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext
    from hotloop.measure.profiler import Profiler

#: Source lines that the capture names.
LINES_NOTED = 20


def _nothing() -> None:
    """Does nothing, until a watcher is set."""


class Moves:
    """The transfers of one run, and their notes in the capture."""

    def __init__(self, profiler: Profiler) -> None:
        self.core = core = profiler.core
        self.region = core.region("transfer")
        #: Called once, when the first tensor was seen on another device.
        self.at_first: Callable[[], None] = _nothing
        self.native = native_parts(core)
        self.kept: Foreign = None
        self.seen: Callable[[str, int, bool], None] = lambda what, size, waits: None
        self.waited: Callable[[str], None] = lambda what: None
        if self.native is not None:
            self.kept = self.native.Transfers(core, is_program_file, self._first)
            self.seen, self.waited = self.kept.seen, self.kept.waited
        self._noted_at = 0
        self._noted: list[list[Foreign]] = []

    def _first(self) -> None:
        self.at_first()

    def _native_lines(self) -> list[tuple[Foreign, ...]]:
        return self.kept.lines() if self.kept is not None else []

    def reading(
        self,
        function: Function,
        what: str,
        can_leave: bool = True,
        counts: bool = False,
    ) -> Foreign:
        """A method that reads a tensor; with `counts`, reads of CPU tensors are counted."""
        return self.native.TensorMethod(
            self.kept, function, what, True, counts, can_leave, None, None
        )

    def moving(self, function: Function, what: str, cpu: Foreign, goes_away: Foreign) -> Foreign:
        """A method that moves a tensor; `goes_away` decides for one that is on the CPU."""
        return self.native.TensorMethod(
            self.kept, function, what, False, False, True, cpu, goes_away
        )

    def notes(self) -> dict[str, object]:
        """The source lines that move the most; repeated only when there are far more."""
        kept = self._native_lines()
        if not kept:
            return {}
        whole = sum(moved + waits for *_, moved, _, waits in kept)
        if whole >= 2 * self._noted_at:
            self._noted_at, self._noted = max(whole, 1), self.lines()
        return {Notes.transfer_lines: self._noted}

    def note_everything(self) -> None:
        """Make the next note cover everything counted so far."""
        self._noted_at = 0

    def lines(self) -> list[list[Foreign]]:
        """[file, line, function, what, transfers, bytes, waits] so far, the most first."""
        totals: dict[tuple[str, int, str, str], list[int]] = {}
        for what, code, instruction, *figures in self._native_lines():
            key = (code.co_filename, _line_of(code, instruction), code.co_name, what)
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


def bytes_of(tensor: Foreign) -> int:
    """The size of a tensor; 0 for one that has none (sparse, not initialized yet)."""
    try:
        return int(tensor.nbytes)
    except Exception:
        return 0


def _always(args: Foreign, kwargs: Foreign) -> bool:
    return True


def _goes_away(device: type) -> Callable[[Foreign, Foreign], bool]:
    """Whether the arguments of `Tensor.to` name another device than the CPU."""

    def goes_away(args: Foreign, kwargs: Foreign) -> bool:
        target = args[0] if args else kwargs.get("device")
        kind = type(target)
        if kind is device:
            return bool(target.type != "cpu")
        if kind is str:
            return not target.startswith("cpu")
        # A number is a device's; a tensor is where it is; a dtype is nowhere.
        return kind is int or not getattr(target, "is_cpu", True)

    return goes_away


def can_leave_cpu(torch: Foreign) -> bool:
    """Whether this torch was built for anything but the CPU.

    Checking for a device would start its driver, after which a program cannot fork.
    """
    version, backends = torch.version, torch.backends
    if getattr(version, "cuda", None) or getattr(version, "hip", None):
        return True
    return bool(getattr(version, "xpu", None) or backends.mps.is_built())


#: The name of each implicit read in a report.
_IMPLICIT = {
    "__float__": "float(t)",
    "__int__": "int(t)",
    "__bool__": "bool(t)",
    "__index__": "t as an index",
}


def install(context: HookContext) -> Undo:
    """Hook the methods of `torch.Tensor` that read or move it."""
    import torch

    moves = context.transfers
    if moves.native is None:
        return _nothing
    can_leave = can_leave_cpu(torch)
    hooks: dict[str, Wrapper] = {
        name: functools.partial(moves.reading, what=f".{name}()", can_leave=can_leave, counts=True)
        for name in ("item", "tolist", "numpy")
    }
    undo: list[Undo] = []
    if can_leave:
        away, cpu = _goes_away(torch.device), torch.device("cpu")
        for name, where, decides in (
            ("cpu", None, None),
            ("cuda", None, _always),
            ("to", cpu, away),
        ):
            hooks[name] = functools.partial(
                moves.moving, what=f".{name}()", cpu=where, goes_away=decides
            )
        for name, what in _IMPLICIT.items():
            hooks[name] = functools.partial(moves.reading, what=what)

        def waited(*_: object, **__: object) -> None:
            if not in_own_thread():
                moves.waited("torch.cuda.synchronize()")

        undo.append(put_hook(torch.cuda, "synchronize", observe(context, waited)))
    undo += [put_hook(torch.Tensor, name, hook) for name, hook in hooks.items()]

    def remove() -> None:
        for call in undo:
            call()

    return remove
