"""Finds hand-written parts of a program and times them as their phases.

Most programs have their own replay buffer, advantage function, agent or environment. `recognition`
decides the phase of a class or a function, and this module attaches it once the module is imported.
For the script itself, `run.definitions` marks when its definitions have run (`inspect_main`). Only
the program's own files are inspected, and never a class that a library's table has hooked.
"""

from __future__ import annotations

import inspect
import sys
import threading
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any
from weakref import WeakSet

from hotloop.capture import schema
from hotloop.capture.schema import Notes
from hotloop.hooks import LIBRARIES
from hotloop.hooks.context import HookContext
from hotloop.hooks.inference.events import ACT, ADD, FORWARD, SAMPLE
from hotloop.hooks.inference.gaps import has_gradients
from hotloop.hooks.inference.jitted import is_jitted
from hotloop.hooks.inference.networks import UNCOUNTED, rows_of_batch
from hotloop.hooks.inference.step_results import StepResult, step_result_of
from hotloop.hooks.inference.steps import Reader
from hotloop.hooks.install import Hooks
from hotloop.hooks.program.confirming import BY_NAME, unless_it_trains
from hotloop.hooks.program.files import is_program_file
from hotloop.hooks.program.first_steps import FirstStep
from hotloop.hooks.program.named_phases import NamedPhases
from hotloop.hooks.program.populations import Populations
from hotloop.hooks.program.recognition import Recognized, in_class, in_function
from hotloop.hooks.program.searching import SelfPlay
from hotloop.hooks.protocols import Function, Undo
from hotloop.hooks.redirect import (
    at_first_call,
    is_awaited,
    is_defined_in,
    is_really,
    plain_function,
    raw_attribute,
    redirect,
    time_as,
)
from hotloop.hooks.wrapping import dispatch
from hotloop.measure.profiler import Profiler

_MAIN = ("__main__", "__mp_main__")


class Shapes:
    """Inspects the program's modules when they are imported."""

    def __init__(self, hooks: Hooks, profiler: Profiler, named: NamedPhases | None = None) -> None:
        self._hooks = hooks
        self._profiler = profiler
        self._named = named or NamedPhases(hooks, profiler, [])
        context = self._context = hooks.context
        context.remarks.append(context.tabular.remarks)
        self._populations = Populations(context)
        self._self_play = SelfPlay(context)
        self._seen: set[tuple[str, str]] = set()
        #: Module of the script -> its names when it was last inspected.
        self._sizes: dict[str, int] = {}
        self._hooked_packages = {name for wakers in LIBRARIES.values() for name in wakers}
        #: Phase -> functions that were recognized as it and called.
        self.used: dict[str, list[str]] = {}
        #: Those that store or draw by priority.
        self.by_priority: list[str] = []
        #: Functions that have their phase.
        self._hooked: WeakSet[FunctionType] = WeakSet()

    def notes(self) -> dict[str, Any]:
        """The notes on recognized functions."""
        notes: dict[str, Any] = {Notes.shapes: {p: list(names) for p, names in self.used.items()}}
        if self.by_priority:
            notes[Notes.by_priority] = list(self.by_priority)
        return notes

    # -- as modules come --

    def inspect(self, name: str) -> None:
        """A module has been imported."""
        module = sys.modules.get(name)
        if name not in _MAIN and is_really(module, ModuleType) and self._is_own(module):
            self._inspect(module)

    def inspect_main(self) -> None:
        """Inspect what the script has defined since the last time."""
        for name in _MAIN:
            module = sys.modules.get(name)
            if not is_really(module, ModuleType):
                continue
            size = len(vars(module))
            if size != self._sizes.get(name) and self._is_own(module):
                self._sizes[name] = size
                self._named.inspect(name)
                self._inspect(module)

    def _is_own(self, module: ModuleType) -> bool:
        if (module.__name__ or "").partition(".")[0] in self._hooked_packages:
            return False
        file = getattr(module, "__file__", None)
        # Code typed into a notebook or an interpreter is in no file.
        return (file is None and module.__name__ in _MAIN) or is_program_file(file)

    def _inspect(self, module: ModuleType) -> None:
        for name, value in list(vars(module).items()):
            is_class = is_really(value, type)
            # Attributes of other objects are not read.
            if not (is_class or is_really(value, FunctionType)):
                continue
            if (module.__name__, name) in self._seen or not is_defined_in(module, value):
                continue
            try:
                if is_class:
                    self._inspect_class(value)
                elif value not in self._hooked:
                    for found in in_function(module, name, value):
                        self._put_on(found, [])
            except Exception as error:
                self._hooks.failures[f"{module.__name__}.{name}"] = repr(error)
            self._seen.add((module.__name__, name))
        try:
            for owner, name in self._self_play.games_in(module):
                self._put_on(Recognized(owner, name, (), "game"), [])
        except Exception as error:
            self._hooks.failures[f"games of {module.__name__}"] = repr(error)

    def inspect_unpickled(self, cls: type) -> None:
        """Inspect a class that was sent by value, whatever file it was written in."""
        try:
            self._inspect_class(cls, lambda each: each.__module__ == cls.__module__)
        except Exception as error:
            self._hooks.failures[f"{cls.__module__}.{cls.__name__}"] = repr(error)

    def _inspect_class(self, cls: type, is_own: Callable[[type], bool] | None = None) -> None:
        libraries = {base.__module__.partition(".")[0] for base in cls.__mro__}
        hooked = libraries & self._hooked_packages
        if hooked and not _is_network(cls):
            return
        # Other metaclasses (enumerations, compiled classes) keep their own order.
        if not hooked and type(cls) is not type and type(cls).__module__ != "abc":
            return
        hooks: list[Undo] = []
        for found in in_class(cls, is_own or self._is_own_class):
            self._put_on(found, hooks)

    def _is_own_class(self, cls: type) -> bool:
        module = sys.modules.get(cls.__module__)
        return module is not None and self._is_own(module)

    # -- putting on --

    def _put_on(self, found: Recognized, hooks: list[Undo]) -> None:
        """Hook the found functions; `hooks` are those of the same class."""
        function = plain_function(vars(found.owner)[found.name])
        if function is None or function in self._hooked or self._named.has(function):
            return
        if is_jitted(function) or is_awaited(function):
            return  # handled by the jax table; a call here is only the dispatch
        if found.kind == "network" and "jax" not in sys.modules:
            return  # elsewhere networks are objects, and hooked
        core, owner, name = self._profiler.core, found.owner, found.name
        if found.kind == "search":
            self._self_play.names.add(name)
        own: list[Undo] = []
        first_step = FirstStep(core) if found.kind == "env.step by shape" else None
        own.append(
            redirect(
                core,
                owner,
                name,
                lambda original: self._call(found, original, hooks, own, first_step),
            )
        )
        label = _label(function)

        def first(*args: object, **kwargs: object) -> None:
            if first_step is not None:
                first_step.given(*args, **kwargs)
            self._first(found, label)

        own.append(at_first_call(core, owner, name, first))
        hooks += own
        for undo in own:
            self._hooks.undo(undo)
        placed = plain_function(raw_attribute(owner, name))
        self._hooked |= {function, placed or function}

    def _first(self, found: Recognized, label: str) -> None:
        if found.kind == "network" or found.phases == ("evaluate",):
            return  # each call is judged by its surroundings
        for phase in found.phases:
            self._profiler.mark(phase, "shape")
            self.used.setdefault(phase, []).append(label)
        if found.by_priority:
            self.by_priority.append(label)

    def _take_back(self, found: Recognized, function: Any, own: list[Undo]) -> None:
        for undo in own:
            undo()
        label = _label(function)
        for phase in found.phases:
            if label in self.used.get(phase, ()):
                self.used[phase].remove(label)
                if not self.used[phase]:
                    self._profiler.recognised.pop(phase, None)

    def _call(
        self,
        found: Recognized,
        function: Function,
        hooks: list[Undo],
        own: list[Undo],
        first_step: FirstStep | None,
    ) -> Function:
        """The hook of a function; `hooks` are those of its class, `own` undo this one."""
        after: Callable[..., Any] | None = None
        if found.kind == "network":
            return _network(self._context, function)
        if found.kind in self._self_play.kinds:
            return self._self_play.kinds[found.kind](function)
        if found.phases == ("evaluate",):
            populations = self._populations
            chosen = dispatch(self._context, populations.choose, populations.ended, outermost=True)
            return chosen(self._context.altered(function, "evaluate"))
        if found.kind == "search":
            after = self._self_play.searched
        elif found.kind == "generation":
            after = self._generation_ended
        elif found.kind == "pull":
            after = self._pulled
        elif found.kind.startswith("env.step"):
            after = self._stepped(hooks, first_step.outcome if first_step else step_result_of)
        elif found.kind == "env.reset":
            after = self._was_reset
        elif found.kind == "buffer.sample":
            after = self._sampled
        elif found.kind in ("buffer.add", "policy.act", "learn") and not has_gradients():
            after = self._context.tabular.something_ended
        elif found.kind == "buffer.add":
            after = _event_note(self._context, ADD)
        elif found.kind == "policy.act":
            after = _event_note(self._context, ACT)
        # An agent's `store` that pushes a batch row by row: each of them is a call.
        outermost = found.kind != "buffer.add"
        if inspect.isgeneratorfunction(function):
            # It counts while it runs, not while its consumer does.
            return self._profiler.profile_function(found.phases[-1])(function)
        timed = call = time_as(self._context, function, found.phases, after, outermost)
        if found.kind == "policy.act" and _is_network(found.owner):
            call = _acting(self._context, call, function)
        if found.phases[0] in BY_NAME:
            call = unless_it_trains(
                self._profiler.core, call, lambda: self._take_back(found, function, own)
            )
        if "jax" in sys.modules:
            call = _unless_traced(self._context, call, function, found.phases[0])
        if call is timed or not outermost:
            return call
        return self._profiler.core.region(found.phases[0]).wrap(function, instead=call)

    def _stepped(self, hooks: list[Undo], read_result: Reader) -> Callable[..., object]:
        """Count a `step`; if its result is not an environment's, the class is not one either."""

        def read(result: object) -> StepResult | None:
            outcome = read_result(result)
            if outcome is None:
                for undo in hooks:
                    undo()
            return outcome

        return self._context.steps.of_program(read)

    def _was_reset(self, result: object, env: object = None, *_: object, **__: object) -> None:
        """An episode begins; inside a step it is the step's result that ends the one before."""
        if not self._profiler.core.is_open("env.step"):
            self._context.environment_was_reset(result, env)

    def _pulled(self, *_: object, **__: object) -> None:
        """A bandit's arm was pulled: a step, and no episode."""
        self._profiler.core.count(schema.ENV_STEPS, 1)
        self._context.order.stepped(1)

    def _generation_ended(self, *_: object, **__: object) -> None:
        self._profiler.core.count(schema.GENERATIONS, 1)

    def _sampled(self, result: Any, *args: Any, **_: Any) -> None:
        try:
            self._profiler.gauges[schema.BUFFER_LENGTH] = len(args[0])
            self._context.environments.buffers.used(args[0])
        except Exception:
            pass  # a buffer need not know its length
        order = self._context.order
        order.drawn_rows = min(order.drawn_rows + rows_of_batch(result), UNCOUNTED)
        if has_gradients():
            self._context.order.happened(SAMPLE)


def _label(function: Any) -> str:
    return f"{function.__module__}:{function.__qualname__}"


# -- events --


def _event_note(context: HookContext, kind: int) -> Callable[..., None]:
    happened = context.order.happened

    def note(*_: object, **__: object) -> None:
        happened(kind)

    return note


def _network(context: HookContext, function: Callable[..., Any]) -> Callable[..., Any]:
    """A network that is a function of its weights and its input, called directly."""
    from hotloop.hooks.inference.networks import WHOLE, batch_size_of

    is_open, networks, order = context.core.is_open, context.networks, context.order

    def call(*args: object, **kwargs: object) -> object:
        if len(args) < 2 or not order.envs or is_open(*WHOLE):
            return function(*args, **kwargs)
        return networks.call(function, False, batch_size_of(args[1]), function, args, kwargs)

    return call


def _unless_traced(
    context: HookContext, call: Callable[..., Any], function: Callable[..., Any], phase: str
) -> Callable[..., Any]:
    """A call while `jax.jit` traces does no work: it becomes part of the compiled function."""
    is_open, note_part = context.core.is_open, context.jitted.note_part

    def call_or_note(*args: object, **kwargs: object) -> object:
        if is_open("compile"):
            note_part(phase)
            return function(*args, **kwargs)
        return call(*args, **kwargs)

    return call_or_note


def _acting(
    context: HookContext, call: Callable[..., Any], function: Callable[..., Any]
) -> Callable[..., Any]:
    """A network's own way to choose an action, which some programs also learn through."""
    is_open, order = context.core.is_open, context.order

    def act(self: object, *args: object, **kwargs: object) -> object:
        if is_open("policy.act") or threading.get_ident() != order.thread:
            return call(self, *args, **kwargs)
        torch = sys.modules.get("torch")
        gradients = bool(torch and torch.is_grad_enabled())
        if order.purpose(id(self), gradients, _rows(args)) == FORWARD:
            return function(self, *args, **kwargs)
        return call(self, *args, **kwargs)

    return act


def _rows(args: tuple[Any, ...]) -> int:
    shape: Any = getattr(args[0], "shape", ()) if args else ()
    return int(shape[0]) if len(shape) > 1 else 1


def _is_network(cls: object) -> bool:
    bases = {(b.__module__.partition(".")[0], b.__name__) for b in getattr(cls, "__mro__", ())}
    return bool({("torch", "Module"), ("keras", "Layer"), ("tensorflow", "Module")} & bases)
