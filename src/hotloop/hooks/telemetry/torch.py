"""Telemetry of PyTorch: threads, optimizers and their networks, retained graphs, compilations.

Optimizers are recorded when constructed and held weakly. Tensors are read in place,
by the recorder's thread; nothing is computed with torch there, so that no thread pool is woken.
"""

from __future__ import annotations

import functools
import sys
import weakref
from collections.abc import Callable
from time import monotonic, perf_counter
from typing import TYPE_CHECKING

from hotloop.capture import schema
from hotloop.capture.schema import Network, Notes, TorchThreads
from hotloop.hooks.protocols import Foreign, Function, Undo, Wrapper
from hotloop.hooks.wrapping import observe, put_hook
from hotloop.measure.core import Core, native_parts
from hotloop.measure.own_threads import OwnThread

if TYPE_CHECKING:
    from hotloop.hooks.telemetry.collect import Telemetry
    from hotloop.hooks.telemetry.graphs import Graphs
    from hotloop.hooks.telemetry.transfers import Moves

#: Seconds between two checks of weights for subnormal numbers: soon, then increasingly rarely.
SUBNORMAL_READS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
#: The first windows all read the number of threads; later, one in this many does.
THREADS_WINDOWS = 8
#: How long to wait for torch's number of threads.
LONGEST_ANSWER_S = 5.0
#: Numbers that one check reads of one tensor, and tensors that it reads.
_NUMBERS, _TENSORS = 4096, 8

#: The smallest normal number of float32; nonzero numbers below it are subnormal.
_SMALLEST_NORMAL = 1.1754943508222875e-38


def install(telemetry: Telemetry) -> None:
    """Hook the few functions that this telemetry comes from."""
    import torch

    from hotloop.hooks.telemetry.graphs import Graphs

    context = telemetry.context
    networks, graphs, anomaly = Networks(telemetry), Graphs(telemetry), Anomaly(telemetry)
    lists = Lists(telemetry, graphs)
    lists.install(torch)
    context.output_watchers.append(graphs.saw)

    def count_autocast(mode: Foreign) -> None:
        if getattr(mode, "_enabled", True):
            telemetry.count(schema.AUTOCASTS, 1)
            telemetry.lines.note(schema.CALL_AUTOCAST)

    hooks: tuple[tuple[Foreign, str, Wrapper], ...] = (
        (torch.optim.Optimizer, "__init__", observe(context, networks.made)),
        (torch, "set_anomaly_enabled", observe(context, anomaly.was_set)),
        (torch.autocast, "__enter__", observe(context, before=count_autocast)),
        (torch.cuda, "empty_cache", telemetry.expensive(_EMPTY_CACHE, schema.CALL_EMPTY_CACHE)),
    )
    for undo in (context.output_watchers.clear, graphs.stop, lists.remove):
        telemetry.add(undo=undo)
    for hook in hooks:
        telemetry.add(undo=put_hook(*hook))
    transfers = context.transfers
    telemetry.add(read=networks.read, notes=networks.notes)
    telemetry.add(notes=transfers.notes, last_read=transfers.note_everything)
    for source in (anomaly, Compilations(telemetry), lists, graphs):
        telemetry.add(read=source.read)


class Networks:
    """The optimizers of a program: number, kind and device of their parameters."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._optimizers: list[weakref.ref[Foreign]] = []
        self._known: dict[int, dict[str, Foreign]] = {}
        self._due = monotonic() + SUBNORMAL_READS[0]
        self._subnormal_reads = 0
        self._windows = self._threads = 0

    def made(self, result: None, optimizer: Foreign, *_: object, **__: object) -> None:
        """An optimizer was constructed."""
        self._optimizers.append(weakref.ref(optimizer))

    def notes(self) -> dict[str, object]:
        import torch

        found: dict[str, object] = {
            Notes.threads: {
                TorchThreads.torch: self._threads or threads_of(torch),
                TorchThreads.torch_interop: torch.get_num_interop_threads(),
            },
            Notes.torch_build: _build(torch),
        }
        networks = [self._describe(o) for ref in self._optimizers if (o := ref()) is not None]
        if networks:
            found[Notes.networks] = networks
            largest = max(networks, key=lambda each: each[Network.parameters])
            found[Notes.device] = largest[Network.device]
        return found

    def _describe(self, optimizer: Foreign) -> dict[str, Foreign]:
        known = self._known.get(id(optimizer))
        if known is not None and known[Network.groups] == len(optimizer.param_groups):
            return known
        parameters = _parameters(optimizer)
        known = {
            Network.library: "torch",
            Network.optimizer: type(optimizer).__name__,
            Network.groups: len(optimizer.param_groups),
            Network.parameters: sum(p.numel() for p in parameters),
            Network.tensors: len(parameters),
            Network.convolutions: sum(p.dim() >= 4 for p in parameters),
            Network.device: parameters[0].device.type if parameters else "cpu",
            Network.dtype: str(parameters[0].dtype).removeprefix("torch.") if parameters else "",
        }
        self._known[id(optimizer)] = known
        return known

    def read(self) -> None:
        """The current threads; from time to time the share of subnormal numbers in weights."""
        # Collectors and trainers set the number for their own time and put it back at the end.
        if self._windows < THREADS_WINDOWS or self._windows % THREADS_WINDOWS == 0:
            self._threads = threads_of(sys.modules["torch"])
            self._telemetry.gauge(schema.TORCH_THREADS, self._threads)
        self._windows += 1
        if monotonic() < self._due or "numpy" not in sys.modules:
            return
        self._subnormal_reads += 1
        self._due = (
            monotonic() + SUBNORMAL_READS[min(self._subnormal_reads, len(SUBNORMAL_READS) - 1)]
        )
        weights, states = [], []
        for ref in self._optimizers:
            optimizer = ref()
            if optimizer is None:
                continue
            chosen = sorted(_parameters(optimizer), key=lambda p: -p.numel())[:_TENSORS]
            weights += chosen
            for parameter in chosen:
                kept = optimizer.state.get(parameter) or {}
                states += [v for v in list(kept.values()) if getattr(v, "dim", int)() > 0]
        for name, tensors in ((schema.SUBNORMALS, weights), (schema.SUBNORMAL_STATES, states)):
            share = _subnormal_share(tensors[:_TENSORS])
            if share is not None:
                self._telemetry.gauge(name, share)


#: Counters of calls and of their seconds.
_LIST_TENSOR = (schema.LIST_TENSORS, schema.LIST_TENSOR_S)
_EMPTY_CACHE = (schema.EMPTY_CACHES, schema.EMPTY_CACHE_S)


def _build(torch: Foreign) -> str:
    """What this torch was built for: "cuda", "rocm", "mps" or "cpu"."""
    if getattr(torch.version, "hip", None):
        return "rocm"
    if torch.version.cuda:
        return "cuda"
    mps = getattr(torch.backends, "mps", None)
    return "mps" if mps is not None and mps.is_built() else "cpu"


def _parameters(optimizer: Foreign) -> list[Foreign]:
    return [p for group in list(optimizer.param_groups) for p in list(group["params"])]


def _subnormal_share(tensors: list[Foreign]) -> float | None:
    """Share among nonzero numbers; read in place, without a full copy."""
    import numpy

    seen = small = 0
    for tensor in tensors:
        if not tensor.is_cpu or str(tensor.dtype) != "torch.float32" or not tensor.is_contiguous():
            continue
        flat = Core.original(type(tensor).numpy)(tensor.detach()).reshape(-1)
        part = numpy.abs(flat[:: max(len(flat) // _NUMBERS, 1)])
        seen += len(part)
        small += int(((part > 0) & (part < _SMALLEST_NORMAL)).sum())
    return small / seen if seen else None


class Anomaly:
    """How long autograd's anomaly mode was on."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._since: float | None = None
        self._total = 0.0

    def was_set(self, result: None, *args: object, **kwargs: object) -> None:
        """`torch.set_anomaly_enabled` was called."""
        mode = args[0] if args else kwargs.get("enabled", kwargs.get("mode"))
        if not _is_tracing():
            self._set(bool(mode))

    def _set(self, on: bool) -> None:
        now = perf_counter()
        if on and self._since is None:
            self._since = now
            self._telemetry.lines.note(schema.CALL_ANOMALY_MODE)
            self._telemetry.gauge(schema.ANOMALY_OWN_FRAMES, _own_frames())
        elif not on and self._since is not None:
            self._total += now - self._since
            self._since = None

    def read(self) -> None:
        since = self._since
        total = self._total + (perf_counter() - since if since is not None else 0.0)
        if total:
            self._telemetry.gauge(schema.ANOMALY_S, total)


def _own_frames() -> int:
    """hotloop's frames below the program: anomaly mode records these too, each time."""
    frame: Foreign = sys._getframe()
    count = -2  # this one and its caller are not there later
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        count += name.partition(".")[0] in ("hotloop", "runpy")
        frame = frame.f_back
    return max(count, 0)


def _is_tracing() -> bool:
    """Whether `torch.compile` is compiling: it uses anomaly mode itself."""
    context = getattr(sys.modules.get("torch._guards"), "TracingContext", None)
    return context is not None and context.try_get() is not None


class Compilations:
    """What `torch.compile` has compiled so far, as it counts itself."""

    def __init__(self, telemetry: Telemetry) -> None:
        self._telemetry = telemetry
        self._attributed = 0

    def read(self) -> None:
        utils = sys.modules.get("torch._dynamo.utils")
        frames = sys.modules.get("torch._dynamo.convert_frame")
        times = getattr(utils, "compilation_time_metrics", None)
        if not times:
            return
        # The outermost of the compiler's own timers, by the names that versions gave it.
        whole = next((times[n] for n in _WHOLE_COMPILATION if times.get(n)), None)
        if not whole:
            return
        self._telemetry.gauge(schema.COMPILES, len(whole))
        self._telemetry.gauge(schema.COMPILE_S, float(sum(whole)))
        counter = getattr(frames, "FRAME_COMPILE_COUNTER", None)
        if counter:
            self._telemetry.gauge(schema.COMPILED_FUNCTIONS, len(counter))
        if len(whole) > self._attributed:
            self._attributed = len(whole)
            self._find_recompiled(utils)

    def _find_recompiled(self, utils: Foreign) -> None:
        """Functions that were compiled more than once, as the compiler's own records name them."""
        records: list[Foreign] = list(getattr(utils, "get_compilation_metrics", list)())
        seen: set[Foreign] = set()
        for record in records:
            place: Foreign = (
                getattr(record, "co_filename", None),
                getattr(record, "co_firstlineno", None),
                getattr(record, "co_name", None),
            )
            if not isinstance(place[0], str) or not isinstance(place[1], int):
                continue
            if place in seen:
                self._telemetry.lines.add(schema.CALL_RECOMPILED, place)
            seen.add(place)


_WHOLE_COMPILATION = ("_compile.compile_inner", "_compile", "compile_inner")


#: After this many backward passes, a program that has not made a tensor from a list won't.
ENOUGH_BACKWARDS = 100


class Lists:
    """`torch.tensor` of a list of arrays goes through it number by number.

    Both functions are called several times per step. This hook is detached once a program has
    learned for a while and made no such tensor, unless it is needed for tensors of other devices.
    """

    def __init__(self, telemetry: Telemetry, graphs: Graphs) -> None:
        self._telemetry, self._graphs = telemetry, graphs
        self._seen = False
        self._can_leave = True
        self._undo: list[Undo] = []

    def install(self, torch: Foreign) -> None:
        from hotloop.hooks.telemetry.transfers import can_leave_cpu

        self._can_leave = can_leave_cpu(torch)
        self._undo = [put_hook(torch, name, self._hook) for name in ("tensor", "as_tensor")]

    def remove(self) -> None:
        while self._undo:
            self._undo.pop()()

    def read(self) -> None:
        """Once a second: whether this is still needed."""
        learned = self._graphs.backwards >= ENOUGH_BACKWARDS
        if learned and not (self._seen or self._can_leave):
            self.remove()

    def _hook(self, original: Function) -> Function:
        can_leave = self._can_leave
        make_there = _make_there(self._telemetry.context.transfers, original)
        slow = self._telemetry.expensive(_LIST_TENSOR, schema.CALL_LIST_TENSOR)(original)

        @functools.wraps(original)
        def tensor(*args: Foreign, **kwargs: Foreign) -> object:
            if can_leave and kwargs.get("device") is not None:
                return make_there(args, kwargs)
            data = args[0] if args else None
            if type(data) not in _LISTS or not _holds_arrays(data):
                return original(*args, **kwargs)
            self._seen = True
            return slow(*args, **kwargs)

        native = native_parts(self._telemetry.context.core)
        return native.ListCalls(original, tensor) if native is not None else tensor


def _make_there(moves: Moves, original: Function) -> Callable[[Foreign, Foreign], object]:
    """A tensor that is made on a device from data of the host is moved there."""
    from hotloop.hooks.telemetry.transfers import bytes_of

    cpu = sys.modules["torch"].device("cpu")
    move, seen = moves.region.wrap(original), moves.seen
    what = f"torch.{original.__name__}()"

    def make_there(args: Foreign, kwargs: Foreign) -> Foreign:
        device = kwargs["device"]
        data = args[0] if args else kwargs.get("data")
        stays = device == cpu or str(device).startswith("cpu")
        if stays or not getattr(data, "is_cpu", True):
            return original(*args, **kwargs)
        result = move(*args, **kwargs)
        if not result.is_cpu:
            seen(what, bytes_of(result), False)
        return result

    return make_there


#: `zip(*batch)` gives tuples, which take as long (measured: 1.3 ms for 128 arrays of 100 numbers,
#: with `numpy.stack` 0.04 ms).
_LISTS = frozenset({list, tuple})


def _holds_arrays(data: Foreign) -> bool:
    """Whether a list, or a list of lists, is one of arrays; NumPy's single numbers are cheap."""
    first = data[0] if data else None
    if type(first) in _LISTS and first:
        first = first[0]
    return type(first).__module__ == "numpy" and getattr(first, "ndim", 0) > 0


def threads_of(torch: Foreign) -> int:
    """How many threads torch uses, read in a new thread.

    A thread that has read it before keeps that value, whatever `set_num_threads` was
    called with elsewhere meanwhile; a new one gets the current value.
    """
    answer: list[int] = []
    asking = OwnThread(lambda: answer.append(torch.get_num_threads()))
    asking.start()
    asking.join(LONGEST_ANSWER_S)
    return answer[0]
