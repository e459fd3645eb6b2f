"""Facts of PyTorch: threads, optimizers and their networks, graphs that live on, compilations.

Optimizers are known from their making and only weakly held. Tensors are looked at where they lie,
by the recorder's thread; nothing is computed with torch there, so that no thread pool is woken.
"""

from __future__ import annotations

import functools
import sys
import threading
import time
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hotloop.hooks.facts import Facts
    from hotloop.hooks.graphs import Graphs

#: Seconds between two looks at weights for subnormal numbers: soon, then ever more rarely.
SUBNORMAL_LOOKS = (1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0)
#: Windows at first that all ask for the number of threads, and later windows of which one does.
THREADS_WINDOWS = 8
#: Numbers that one look reads of one tensor, and tensors that it reads.
_NUMBERS, _TENSORS = 4096, 8

#: The smallest normal number of float32; what is nearer to zero and not zero is subnormal.
_SMALLEST_NORMAL = 1.1754943508222875e-38


def put_on(facts: Facts) -> None:
    """Stand in the few places that tell these facts."""
    import torch

    from hotloop.hooks.batch import watch
    from hotloop.hooks.graphs import Graphs
    from hotloop.hooks.transfers import moves

    networks = Networks(facts)
    graphs = Graphs(facts)
    watch.append(graphs.saw)
    undo = [watch.clear, graphs.stop]
    undo.append(_replace(torch.optim.Optimizer, "__init__", networks.wrap_init))
    anomaly = Anomaly(facts)
    undo.append(_replace(torch, "set_anomaly_enabled", anomaly.wrap_set))
    lists = Lists(facts, graphs)
    lists.put_on(torch)
    undo.append(lists.take_off)
    undo.append(_replace(torch.autocast, "__enter__", functools.partial(_count_enter, facts)))
    undo.append(
        _replace(torch.cuda, "empty_cache", functools.partial(_time_empty_cache, facts=facts))
    )
    facts.add(look=networks.look, notes=networks.notes)
    facts.add(notes=moves.notes, last=moves.say_again)
    facts.add(look=anomaly.look)
    facts.add(look=Compilations(facts).look)
    facts.add(look=lists.look)
    facts.add(look=graphs.look)
    for call in undo:
        facts.add(undo=call)


def _replace(owner: Any, name: str, wrapper: Callable[[Any], Any]) -> Callable[[], None]:
    original = vars(owner)[name]
    setattr(owner, name, wrapper(original))
    return lambda: setattr(owner, name, original)


class Networks:
    """The optimizers of a program: how many parameters of what kind, and where they are."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._optimizers: list[weakref.ref[Any]] = []
        self._known: dict[int, dict[str, Any]] = {}
        self._due = time.monotonic() + SUBNORMAL_LOOKS[0]
        self._looks = 0
        self._windows = self._threads = 0

    def wrap_init(self, init: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(init)
        def __init__(optimizer: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
            init(optimizer, *args, **kwargs)
            self._optimizers.append(weakref.ref(optimizer))

        return __init__

    def notes(self) -> dict[str, Any]:
        import torch

        found: dict[str, Any] = {
            "threads": {
                "torch": self._threads or threads_of(torch),
                "torch_interop": torch.get_num_interop_threads(),
            },
            "torch_build": _build(torch),
        }
        networks = [self._describe(o) for ref in self._optimizers if (o := ref()) is not None]
        if networks:
            found["networks"] = networks
            found["device"] = max(networks, key=lambda n: int(n["parameters"]))["device"]
        return found

    def _describe(self, optimizer: Any) -> dict[str, Any]:
        known = self._known.get(id(optimizer))
        if known is not None and known["groups"] == len(optimizer.param_groups):
            return known
        parameters = _parameters(optimizer)
        known = {
            "library": "torch",
            "optimizer": type(optimizer).__name__,
            "groups": len(optimizer.param_groups),
            "parameters": sum(p.numel() for p in parameters),
            "tensors": len(parameters),
            "convolutions": sum(p.dim() >= 4 for p in parameters),
            "device": parameters[0].device.type if parameters else "cpu",
            "dtype": str(parameters[0].dtype).removeprefix("torch.") if parameters else "",
        }
        self._known[id(optimizer)] = known
        return known

    def look(self) -> None:
        """Threads as they are now; now and then the share of subnormal numbers in weights."""
        # Collectors and trainers set the number for their own time and put it back at the end.
        if self._windows < THREADS_WINDOWS or self._windows % THREADS_WINDOWS == 0:
            self._threads = threads_of(sys.modules["torch"])
            self._facts.gauge("torch_threads", self._threads)
        self._windows += 1
        if time.monotonic() < self._due or "numpy" not in sys.modules:
            return
        self._looks += 1
        self._due = time.monotonic() + SUBNORMAL_LOOKS[min(self._looks, len(SUBNORMAL_LOOKS) - 1)]
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
        for name, tensors in (("subnormals", weights), ("subnormal_states", states)):
            share = _subnormal_share(tensors[:_TENSORS])
            if share is not None:
                self._facts.gauge(name, share)


def _build(torch: Any) -> str:
    """What this torch was built for: "cuda", "rocm", "mps" or "cpu"."""
    if getattr(torch.version, "hip", None):
        return "rocm"
    if torch.version.cuda:
        return "cuda"
    mps = getattr(torch.backends, "mps", None)
    return "mps" if mps is not None and mps.is_built() else "cpu"


def _parameters(optimizer: Any) -> list[Any]:
    return [p for group in list(optimizer.param_groups) for p in list(group["params"])]


def _subnormal_share(tensors: list[Any]) -> float | None:
    """Of the numbers that are not zero; read where they lie, without a copy of the whole."""
    import numpy

    seen = small = 0
    for tensor in tensors:
        if not tensor.is_cpu or str(tensor.dtype) != "torch.float32" or not tensor.is_contiguous():
            continue
        read = type(tensor).numpy
        flat = getattr(read, "__wrapped__", read)(tensor.detach()).reshape(-1)
        part = numpy.abs(flat[:: max(len(flat) // _NUMBERS, 1)])
        seen += len(part)
        small += int(((part > 0) & (part < _SMALLEST_NORMAL)).sum())
    return small / seen if seen else None


class Anomaly:
    """How long autograd's anomaly mode was on."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._since: float | None = None
        self._total = 0.0

    def wrap_set(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def set_anomaly_enabled(*args: Any, **kwargs: Any) -> None:
            original(*args, **kwargs)
            mode = args[0] if args else kwargs.get("enabled", kwargs.get("mode"))
            if not _is_tracing():
                self._set(bool(mode))

        return set_anomaly_enabled

    def _set(self, on: bool) -> None:
        now = time.perf_counter()
        if on and self._since is None:
            self._since = now
            self._facts.places.note("anomaly mode", 2)
            self._facts.gauge("anomaly_own_frames", _own_frames())
        elif not on and self._since is not None:
            self._total += now - self._since
            self._since = None

    def look(self) -> None:
        since = self._since
        total = self._total + (time.perf_counter() - since if since is not None else 0.0)
        if total:
            self._facts.gauge("anomaly_s", total)


def _own_frames() -> int:
    """Frames of hotloop's below the program: anomaly mode writes these down too, each time."""
    frame: Any = sys._getframe()
    count = -2  # this one and its caller are not there later
    while frame is not None:
        name = str(frame.f_globals.get("__name__", ""))
        count += name.partition(".")[0] in ("hotloop", "runpy")
        frame = frame.f_back
    return max(count, 0)


def _is_tracing() -> bool:
    """Whether `torch.compile` is at work, which uses anomaly mode for its own ends."""
    context = getattr(sys.modules.get("torch._guards"), "TracingContext", None)
    return context is not None and context.try_get() is not None


class Compilations:
    """What `torch.compile` has compiled so far, as it counts itself."""

    def __init__(self, facts: Facts) -> None:
        self._facts = facts
        self._placed = 0

    def look(self) -> None:
        utils = sys.modules.get("torch._dynamo.utils")
        frames = sys.modules.get("torch._dynamo.convert_frame")
        times = getattr(utils, "compilation_time_metrics", None)
        if not times:
            return
        # The outermost of the compiler's own timers, by the names that versions gave it.
        whole = next((times[n] for n in _WHOLE_COMPILATION if times.get(n)), None)
        if not whole:
            return
        self._facts.gauge("compiles", len(whole))
        self._facts.gauge("compile_s", float(sum(whole)))
        counter = getattr(frames, "FRAME_COMPILE_COUNTER", None)
        if counter:
            self._facts.gauge("compiled_functions", len(counter))
        if len(whole) > self._placed:
            self._placed = len(whole)
            self._find_places(utils)

    def _find_places(self, utils: Any) -> None:
        """Functions that were compiled more than once, as the compiler's own records name them."""
        records: list[Any] = list(getattr(utils, "get_compilation_metrics", list)())
        seen: set[Any] = set()
        for record in records:
            place: Any = (
                getattr(record, "co_filename", None),
                getattr(record, "co_firstlineno", None),
                getattr(record, "co_name", None),
            )
            if not isinstance(place[0], str) or not isinstance(place[1], int):
                continue
            if place in seen:
                self._facts.places.add("recompiled", place)
            seen.add(place)


_WHOLE_COMPILATION = ("_compile.compile_inner", "_compile", "compile_inner")


#: Backward passes after which a program that made no tensor of a list will hardly begin to.
ENOUGH_BACKWARDS = 100


class Lists:
    """`torch.tensor` of a list of arrays goes through it number by number.

    Both functions are called several times a step, and what stands in their place is Python,
    because `torch.compile` looks into it. So it goes once a program has learned for a while and
    made no such tensor, unless it is there for tensors of other devices as well, or a graph was
    compiled with it.
    """

    def __init__(self, facts: Facts, graphs: Graphs) -> None:
        self._facts, self._graphs = facts, graphs
        self._seen = False
        self._can_leave = True
        #: (name, torch's own, ours)
        self._on: list[tuple[str, Any, Any]] = []

    def put_on(self, torch: Any) -> None:
        from hotloop.hooks.torch import tell_torchscript
        from hotloop.hooks.transfers import can_leave_cpu

        self._can_leave = can_leave_cpu(torch)
        _settle_defaults()
        for name in ("tensor", "as_tensor"):
            original = vars(torch)[name]
            hook = self._hook(original)
            setattr(torch, name, hook)
            self._on.append((name, original, hook))
            tell_torchscript(hook, name)

    def take_off(self) -> None:
        torch = sys.modules["torch"]
        while self._on:
            name, original, hook = self._on.pop()
            if getattr(torch, name) is hook:
                setattr(torch, name, original)

    def look(self) -> None:
        """Once a second: whether this is still needed."""
        if self._graphs.backwards < ENOUGH_BACKWARDS or not self._on:
            return
        compiled = self._facts.gauges.get("compiles")
        if not (self._seen or self._can_leave or compiled) and _can_forget_rules():
            self.take_off()
            _forget_rules()

    def _hook(self, original: Callable[..., Any]) -> Callable[..., Any]:
        from hotloop.hooks.torch import _is_compiling

        is_compiling = _is_compiling()
        can_leave, make_there = self._can_leave, _make_there(original)
        facts = self._facts

        @functools.wraps(original)
        def tensor(*args: Any, **kwargs: Any) -> Any:
            if can_leave and kwargs.get("device") is not None and not is_compiling():
                return make_there(args, kwargs)
            data = args[0] if args else None
            if type(data) not in _LISTS or is_compiling() or not _holds_arrays(data):
                return original(*args, **kwargs)
            self._seen = True
            return facts.timed("list_tensor", "tensor of a list", original, args, kwargs)

        return tensor


#: What `torch.compile` knows of torch's functions, by what stood in their places as it looked.
_RULES = "torch._dynamo.trace_rules"


def _can_forget_rules() -> bool:
    rules = sys.modules.get(_RULES)
    return rules is None or hasattr(rules, "clear_lru_cache")


def _forget_rules() -> None:
    rules = sys.modules.get(_RULES)
    if rules is not None:
        rules.clear_lru_cache()


def _make_there(original: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    """A tensor that is made on a device from data of the host is moved there."""
    from hotloop.hooks.transfers import moves

    processor = sys.modules["torch"].device("cpu")
    enter, leave, seen = moves.region.enter, moves.region.exit, moves.seen
    what = f"torch.{original.__name__}()"

    def make_there(args: Any, kwargs: Any) -> Any:
        device = kwargs["device"]
        data = args[0] if args else kwargs.get("data")
        stays = device == processor or str(device).startswith("cpu")
        if stays or not getattr(data, "is_cpu", True):
            return original(*args, **kwargs)
        enter()
        try:
            result = original(*args, **kwargs)
        finally:
            leave()
        if not result.is_cpu:
            seen(what, result.nbytes, False)
        return result

    return make_there


#: `zip(*batch)` gives tuples, which take as long (measured: 1.3 ms for 128 arrays of 100 numbers,
#: with `numpy.stack` 0.04 ms).
_LISTS = frozenset({list, tuple})


def _holds_arrays(data: Any) -> bool:
    """Whether a list, or a list of lists, is one of arrays; NumPy's single numbers are cheap."""
    first = data[0] if data else None
    if type(first) in _LISTS and first:
        first = first[0]
    return type(first).__module__ == "numpy" and getattr(first, "ndim", 0) > 0


def _settle_defaults() -> None:
    """Let torch collect its makers of tensors (for `torch.set_default_device`) as they are."""
    import torch.utils._device

    torch.utils._device._device_constructors()


def _count_enter(facts: Facts, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __enter__(self: Any) -> Any:  # noqa: N807
        if getattr(self, "_enabled", True):
            facts.count("autocasts", 1)
            facts.places.note("autocast")
        return original(self)

    return __enter__


def _time_empty_cache(original: Callable[..., Any], facts: Facts) -> Callable[..., Any]:
    @functools.wraps(original)
    def empty_cache(*args: Any, **kwargs: Any) -> Any:
        return facts.timed("empty_cache", "empty_cache", original, args, kwargs)

    return empty_cache


def threads_of(torch: Any) -> int:
    """How many threads torch uses, asked in a thread of its own.

    A thread that has asked before keeps the answer that it got, whatever `set_num_threads` was
    called with elsewhere meanwhile; a new one begins with the newest.
    """
    answer: list[int] = []
    asking = threading.Thread(target=lambda: answer.append(torch.get_num_threads()))
    asking.start()
    asking.join()
    return answer[0]
