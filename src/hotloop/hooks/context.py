"""The state that the hooks of one run share; the session creates it and passes it to each table.

No state of a run is at module level in `hooks`. A table is a function that receives a `HookContext`
and keeps its state in closures or in objects of that context, so a second run in the same process
starts empty. A forked child continues with its own copy of the parent's context, because its hooked
functions refer to it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, TypeVar

from hotloop.hooks.inference import events
from hotloop.hooks.protocols import EventOrder, Foreign, Function, Note, RunProcess, Undo, Updates

if TYPE_CHECKING:
    from hotloop.hooks.alter import Alterations
    from hotloop.hooks.inference.gaps import Flow
    from hotloop.hooks.inference.jitted import JittedCalls
    from hotloop.hooks.inference.networks import NetworkCalls
    from hotloop.hooks.inference.returns import Returns
    from hotloop.hooks.inference.steps import StepNotes
    from hotloop.hooks.inference.tabular import Tabular
    from hotloop.hooks.inference.traces import Traces
    from hotloop.hooks.telemetry.collect import Telemetry
    from hotloop.hooks.telemetry.environments import Environments
    from hotloop.hooks.telemetry.transfers import Moves
    from hotloop.measure.core import Core
    from hotloop.measure.profiler import Profiler

T = TypeVar("T")


class HookContext:
    """The state of all hooks of one run in one process."""

    def __init__(self, profiler: Profiler) -> None:
        self.profiler = profiler
        self.core: Core = profiler.core
        #: Errors in hooks, by hook; shared with the core. The report names these.
        self.failures: dict[str, str] = profiler.core.failures
        #: Functions that remove hooks, the last one first.
        self.undo: list[Undo] = []
        #: Called with a module's name once it has been imported and hooked.
        self.on_import: list[Callable[[str], None]] = []
        #: Called with a class that came from another process by value.
        self.on_class: list[Callable[[type], None]] = []
        #: Remarks of tables about this run, for the report.
        self.remarks: list[Callable[[], list[str]]] = [events.remarks]
        #: Seconds that this process waited for others, by their names.
        self.waited_for: dict[str, float] = {}
        #: This process's part of the run, if there is one.
        self.process: RunProcess | None = None
        #: Called with (event, output) for outermost network calls that are shown, and some losses.
        self.output_watchers: list[Callable[[int, Foreign], None]] = []
        #: Classes of torch modules whose outermost call is a separate phase, subclasses included.
        self.module_phases: dict[type, str] = {}
        #: Classes of torch modules, as module.name, whose objects are for different purposes: what
        #: tells the event of a call, or None.
        self.module_choosers: dict[str, Callable[[Foreign], int | None]] = {}
        #: Phases that `--skip`, `--slow` and `--every` change.
        self.alterations: Alterations | None = None

    def guard(self, what: str, call: Callable[..., T], *arguments: object) -> T | None:
        """Call it; an error is recorded under `what` and never reaches the program."""
        try:
            return call(*arguments)
        except Exception as error:
            self.failures[what] = repr(error)
            return None

    def altered(self, function: Function, *phases: str, dynamic: bool = False) -> Function:
        """A function that is about to get these phases, altered if the run asks for it."""
        if self.alterations is None:
            return function
        return self.alterations.altered(function, phases, dynamic)

    def name_process(self, name: str, again: bool = True) -> None:
        """Show this worker in the report under a descriptive name."""
        process = self.process
        if process is not None and process.role != "main" and (again or process.unnamed):
            process.role = name

    def class_arrived(self, cls: object) -> None:
        """A class came from another process by value, and has its methods now."""
        if isinstance(cls, type):
            for call in self.on_class:
                self.guard(f"class {cls.__name__}", call, cls)

    def remove_all(self) -> None:
        """Remove every hook."""
        while self.undo:
            self.guard("uninstall", self.undo.pop())

    # Each part is created when the first hook needs it, so a program pays only for what it uses.

    @cached_property
    def flow(self) -> Flow:
        """Gaps between events, and the purpose of network calls."""
        from hotloop.hooks.inference.gaps import Flow

        return Flow(self.profiler)

    @property
    def order(self) -> EventOrder:
        """The order of events in the training loop."""
        return self.flow.order

    @cached_property
    def updates(self) -> Updates:
        """Gradient steps and their batch sizes."""
        from hotloop.hooks.inference.updates import updates_of

        return updates_of(self)

    @cached_property
    def steps(self) -> StepNotes:
        """Notes after environments' steps."""
        from hotloop.hooks.inference.steps import StepNotes

        return StepNotes(self)

    @cached_property
    def returns(self) -> Returns:
        """Returns and lengths of episodes."""
        from hotloop.hooks.inference.returns import Returns

        return Returns(self.profiler)

    @cached_property
    def tabular(self) -> Tabular:
        """Programs that learn in a table."""
        from hotloop.hooks.inference.tabular import Tabular

        return Tabular(self)

    @cached_property
    def networks(self) -> NetworkCalls:
        """Calls of networks that are not torch modules."""
        from hotloop.hooks.inference.networks import NetworkCalls

        return NetworkCalls(self)

    @cached_property
    def traces(self) -> Traces:
        """Functions that TensorFlow has compiled."""
        from hotloop.hooks.inference.traces import Traces

        return Traces()

    @cached_property
    def jitted(self) -> JittedCalls:
        """Functions that JAX has compiled."""
        from hotloop.hooks.inference.jitted import JittedCalls

        return JittedCalls()

    @cached_property
    def environment_was_reset(self) -> Note:
        """A note after `reset` of one environment."""
        native, growth = self.returns.native, self.environments.growth
        if native is None:
            return lambda result, env=None, *_, **__: growth.was_reset(result, env)

        def inspect() -> None:
            native.inspect_resets(self.returns.was_reset, growth.was_reset)

        inspect()
        growth.on_look = inspect
        note: Note = native.after_reset
        return note

    @cached_property
    def environments(self) -> Environments:
        """Telemetry of environments and replay buffers."""
        from hotloop.hooks.telemetry.environments import Environments

        return Environments(self.profiler)

    @cached_property
    def telemetry(self) -> Telemetry:
        """What rules need besides times."""
        from hotloop.hooks.telemetry.collect import Telemetry

        return Telemetry(self)

    @cached_property
    def transfers(self) -> Moves:
        """Copies between devices, and reads of tensors from Python."""
        from hotloop.hooks.telemetry.transfers import Moves

        return Moves(self.profiler)
