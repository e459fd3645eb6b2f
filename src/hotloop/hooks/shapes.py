"""Hand-written parts of a program, recognised by what they are and put into their phases.

Most programs have their own replay buffer, advantage function, agent or environment. `recognise`
says what a class or a function is; this puts the phases on, once its module has been imported. For
the script itself, `measure.program` says when its definitions have run (`look_at_main`). Only the
program's own files are looked at, and never a class that a library's table has hooked.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any

from hotloop.hooks import LIBRARIES, env_facts, tables
from hotloop.hooks.install import Hooks
from hotloop.hooks.jitted import is_jitted, note_part
from hotloop.hooks.named import NamedPhases
from hotloop.hooks.plain_loop import ACT, ADD, FORWARD, SAMPLE, flow, has_gradients
from hotloop.hooks.program_files import is_program_file
from hotloop.hooks.recognise import Found, in_class, in_function
from hotloop.hooks.results import outcome_of
from hotloop.hooks.standin import (
    Entry,
    at_first,
    is_stand_in,
    plain_function,
    put_in_place,
    stand_in,
    timed,
)
from hotloop.hooks.steps import EITHER, NOT_TRAINING, Ends, look_at_one, look_at_vector
from hotloop.measure.profiler import Profiler

_MAIN = ("__main__", "__mp_main__")


class Shapes:
    """Looks at the program's modules as they come."""

    def __init__(self, hooks: Hooks, profiler: Profiler, named: NamedPhases | None = None) -> None:
        self._hooks = hooks
        self._profiler = profiler
        self._named = named or NamedPhases(hooks, profiler, [])
        self._count = profiler.core.count
        self._is_open = profiler.core.is_open
        hooks.remark(tables.remarks)
        self._seen: set[tuple[str, str]] = set()
        #: Module of the script -> names in it as it was last looked at.
        self._sizes: dict[str, int] = {}
        self._hooked_packages = {name for wakers in LIBRARIES.values() for name in wakers}
        #: Phase -> what was recognised as it, and called.
        self.used: dict[str, list[str]] = {}
        #: Those that store or draw by priority.
        self.by_priority: list[str] = []

    def notes(self) -> dict[str, Any]:
        """What the capture says of what was recognised."""
        notes: dict[str, Any] = {"shapes": {p: list(names) for p, names in self.used.items()}}
        if self.by_priority:
            notes["by_priority"] = list(self.by_priority)
        return notes

    # -- as modules come --

    def look_at(self, name: str) -> None:
        """A module has been imported."""
        module = sys.modules.get(name)
        if name not in _MAIN and isinstance(module, ModuleType) and self._is_own(module):
            self._look(module)

    def look_at_main(self) -> None:
        """The script may have defined more since it was last looked at."""
        for name in _MAIN:
            module = sys.modules.get(name)
            if not isinstance(module, ModuleType):
                continue
            size = len(vars(module))
            if size != self._sizes.get(name) and self._is_own(module):
                self._sizes[name] = size
                self._named.look_at(name)
                self._look(module)

    def _is_own(self, module: ModuleType) -> bool:
        if (module.__name__ or "").partition(".")[0] in self._hooked_packages:
            return False
        file = getattr(module, "__file__", None)
        # What is typed into a notebook or an interpreter is in no file.
        return (file is None and module.__name__ in _MAIN) or is_program_file(file)

    def _look(self, module: ModuleType) -> None:
        for name, value in list(vars(module).items()):
            if getattr(value, "__module__", None) != module.__name__ or (
                (module.__name__, name) in self._seen
            ):
                continue
            try:
                if isinstance(value, type):
                    self._look_at_class(value)
                elif isinstance(value, FunctionType) and not is_stand_in(value):
                    for found in in_function(module, name, value):
                        self._put_on(found, {})
                else:
                    continue
            except Exception as error:
                self._hooks.failures[f"{module.__name__}.{name}"] = repr(error)
            self._seen.add((module.__name__, name))

    def look_at_unpickled(self, cls: type) -> None:
        """A class that came by value: where it was written says nothing here."""
        try:
            self._look_at_class(cls, lambda each: each.__module__ == cls.__module__)
        except Exception as error:
            self._hooks.failures[f"{cls.__module__}.{cls.__name__}"] = repr(error)

    def _look_at_class(self, cls: type, is_own: Callable[[type], bool] | None = None) -> None:
        libraries = {base.__module__.partition(".")[0] for base in cls.__mro__}
        hooked = libraries & self._hooked_packages
        if hooked and not _is_network(cls):
            return
        # Other metaclasses (enumerations, compiled classes) keep their own order.
        if not hooked and type(cls) is not type and type(cls).__module__ != "abc":
            return
        entries: dict[str, Entry] = {}
        for found in in_class(cls, is_own or self._is_own_class):
            self._put_on(found, entries)

    def _is_own_class(self, cls: type) -> bool:
        module = sys.modules.get(cls.__module__)
        return module is not None and self._is_own(module)

    # -- putting on --

    def _put_on(self, found: Found, entries: dict[str, Entry]) -> None:
        raw = vars(found.owner)[found.name]
        function = plain_function(raw)
        if function is None or is_stand_in(function) or self._named.has(function):
            return
        if is_jitted(function):
            return  # it knows more of itself than its name says
        if found.kind == "network" and "jax" not in sys.modules:
            return  # elsewhere networks are objects, and known
        entry = Entry(function)
        entries[found.name] = entry
        call = self._call(found, function, entries)
        label = f"{function.__module__}:{function.__qualname__}"
        at_first(entry, call, lambda: self._first(found, label))
        self._hooks.undo(put_in_place(found.owner, found.name, raw, stand_in(entry)))

    def _first(self, found: Found, label: str) -> None:
        if found.kind == "network":
            return  # each call is judged by what surrounds it
        for phase in found.phases:
            self._profiler.mark(phase, "shape")
            self.used.setdefault(phase, []).append(label)
        if found.by_priority:
            self.by_priority.append(label)

    def _call(
        self, found: Found, function: Callable[..., Any], entries: dict[str, Entry]
    ) -> Callable[..., Any]:
        after: Callable[..., Any] | None = None
        if found.kind == "network":
            return _network(self._profiler, function)
        if found.kind == "env.step":
            after = self._stepped(entries)
        elif found.kind == "env.reset":
            after = env_facts.growth.was_reset
        elif found.kind == "buffer.sample":
            after = self._sampled
        elif found.kind in ("buffer.add", "policy.act", "learn") and not has_gradients():
            after = tables.something_ended
        elif found.kind == "buffer.add":
            after = _told(ADD)
        elif found.kind == "policy.act":
            after = _told(ACT)
        # An agent's `store` that pushes a batch row by row: each of them is a call.
        outermost = found.kind != "buffer.add"
        call = timed(self._profiler, function, found.phases, after, outermost)
        if found.kind == "policy.act" and _is_network(found.owner):
            call = _acting(self._profiler, call, function)
        if "jax" in sys.modules:
            call = _unless_traced(self._profiler, call, function, found.phases[0])
        return call

    def _stepped(self, entries: dict[str, Entry]) -> Callable[..., None]:
        """Count what `step` did; if its answer is no environment's, it was none."""
        count, is_open, ends = self._count, self._is_open, Ends()

        def look(result: Any, env: Any, envs: int, ended: int | None) -> None:
            (look_at_one if envs == 1 else look_at_vector)(result, env, envs, ended)

        def stepped(result: Any, env: Any = None, *_: Any, **__: Any) -> None:
            outcome = outcome_of(result)
            if outcome is None:
                for entry in entries.values():
                    entry.switch_off()
                return
            if is_open(*NOT_TRAINING):
                return
            envs, ended = outcome
            if envs == 1:
                ended = ends.new(env, ended or 0)
            count("env_steps", envs)
            if ended:
                count("episodes", ended)
            look(result, env, envs, ended)
            flow.stepped(envs)

        return flow.native_steps(stepped, look, EITHER, True) or stepped

    def _sampled(self, result: Any, *args: Any, **_: Any) -> None:
        try:
            self._profiler.gauges["buffer_length"] = len(args[0])
            env_facts.buffers.used(args[0])
        except Exception:
            pass  # a buffer need not know its length
        if has_gradients():
            flow.happened(SAMPLE)


# -- what the order of events is told --


def _told(kind: int) -> Callable[..., None]:
    def tell(*_: Any, **__: Any) -> None:
        flow.happened(kind)

    return tell


def _network(profiler: Profiler, function: Callable[..., Any]) -> Callable[..., Any]:
    """A network that is a function of its weights and what it sees, called as it is."""
    from hotloop.hooks.networks import WHOLE, call_network, rows_of  # JAX is here: it is read

    is_open = profiler.core.is_open

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) < 2 or not flow.envs or is_open(*WHOLE):
            return function(*args, **kwargs)
        return call_network(function, False, rows_of(args[1]), function, args, kwargs)

    return call


def _unless_traced(
    profiler: Profiler, call: Callable[..., Any], function: Callable[..., Any], phase: str
) -> Callable[..., Any]:
    """What `jax.jit` calls to see what it does is not done: it is a part of what is compiled."""
    is_open = profiler.core.is_open

    def call_or_note(*args: Any, **kwargs: Any) -> Any:
        if is_open("compile"):
            note_part(phase)
            return function(*args, **kwargs)
        return call(*args, **kwargs)

    return call_or_note


def _acting(
    profiler: Profiler, call: Callable[..., Any], function: Callable[..., Any]
) -> Callable[..., Any]:
    """A network's own way to choose an action, which some programs also learn through."""
    is_open = profiler.core.is_open

    def act(self: Any, *args: Any, **kwargs: Any) -> Any:
        if is_open("policy.act") or threading.get_ident() != flow.thread:
            return call(self, *args, **kwargs)
        torch = sys.modules.get("torch")
        gradients = bool(torch and torch.is_grad_enabled())
        if flow.purpose(id(self), gradients, _rows(args)) == FORWARD:
            return function(self, *args, **kwargs)
        return call(self, *args, **kwargs)

    return act


def _rows(args: tuple[Any, ...]) -> int:
    shape: Any = getattr(args[0], "shape", ()) if args else ()
    return int(shape[0]) if len(shape) > 1 else 1


def _is_network(cls: Any) -> bool:
    bases = {(b.__module__.partition(".")[0], b.__name__) for b in getattr(cls, "__mro__", ())}
    return bool({("torch", "Module"), ("keras", "Layer"), ("tensorflow", "Module")} & bases)
