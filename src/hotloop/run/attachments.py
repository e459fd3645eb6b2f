"""What a session attaches to the program: hooks, its own functions, telemetry, the device watch."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from hotloop.capture.values import RegionCost
from hotloop.capture.window import Window
from hotloop.measure import machine
from hotloop.measure.profiler import Profiler
from hotloop.run.naming import MAIN
from hotloop.run.recorder import Recorder
from hotloop.run.settings import Settings

if TYPE_CHECKING:
    from hotloop.hooks.context import HookContext
    from hotloop.hooks.devices.watching import Watching
    from hotloop.hooks.install import Hooks
    from hotloop.hooks.program.own_code import OwnCode
    from hotloop.hooks.protocols import RunProcess
    from hotloop.hooks.telemetry.collect import Telemetry


class CurveWriter(Protocol):
    """Writes figures next to the program's own curves."""

    def begin(self, cost: RegionCost | None) -> None: ...

    def take(self, window: Window) -> None: ...


class Attachments:
    """One process's hooks and their reports to the recorder."""

    def __init__(self, profiler: Profiler, recorder: Recorder, settings: Settings) -> None:
        self._profiler = profiler
        self._recorder = recorder
        self._settings = settings
        self.context: HookContext | None = None
        self.hooks: Hooks | None = None
        #: The program's own functions that are phases.
        self.own_code: OwnCode | None = None
        #: Facts that rules need besides times.
        self.telemetry: Telemetry | None = None
        #: Watches the accelerator, if there is one.
        self.watching: Watching | None = None
        self.curves: CurveWriter | None = None

    def attach(self, process: RunProcess, cost: RegionCost | None) -> None:
        """Hook the libraries and the program of this process."""
        from hotloop.hooks.context import HookContext
        from hotloop.hooks.install import Hooks
        from hotloop.hooks.program.own_code import OwnCode
        from hotloop.hooks.program.source_lines import LineNames

        context = self.context = HookContext(self._profiler)
        context.process = process
        self._alter(process, context)
        hooks = self.hooks = Hooks(context)
        self._recorder.ask(hooks.notes)
        self._recorder.ask(context.environments.growth.notes)
        self.own_code = OwnCode(hooks, self._profiler, self._settings.phases)
        self._recorder.ask(self.own_code.notes)
        self._recorder.ask(LineNames(self._profiler).notes)
        self._recorder.every_window(self.own_code.inspect_main)
        context.telemetry.install()
        self._record_telemetry(context.telemetry)
        self._watch_devices(context)
        if self._settings.fixes:
            from hotloop.hooks.fixes import Fixes

            fixes = Fixes(context, self._settings.fixes)
            self._recorder.ask(fixes.notes)
            fixes.install()
        hooks.install()
        self.measure_in_stretches()
        if self._settings.scalars:
            self.write_curves(self._settings.scalars, cost)

    def inherit(self, parent: Attachments, process: RunProcess, cost: RegionCost | None) -> None:
        """In a forked child: report the figures that the parent's hooks collect here."""
        self.context = parent.context
        if self.context is not None:
            from hotloop.hooks.program.source_lines import LineNames

            self.context.process = process
            self._recorder.ask(LineNames(self._profiler).notes)
        self._record_telemetry(parent.telemetry)
        if parent.watching is not None:
            parent.watching.after_fork()
            self._record_watching(parent.watching)
        self._record_curves(parent.curves, cost)
        self.measure_in_stretches()

    def write_curves(self, writer: str, cost: RegionCost | None) -> None:
        """From now on, write figures next to the program's own curves, with `module:class`."""
        if self.curves is None and self.hooks is not None:
            module, _, name = writer.partition(":")
            self._record_curves(
                getattr(import_module(module), name)(self._profiler, self.hooks), cost
            )

    def measure_in_stretches(self) -> None:
        """After a while, let hooks rest most of the time, unless the run asks for every call.

        Traces and curves need every call, and recordings of a device the phase of every launch.
        """
        settings = self._settings
        if settings.every_call or settings.trace or settings.scalars or self.watching is not None:
            return
        core: Any = self._profiler.core
        if hasattr(core, "stretches"):  # the twin measures every call
            from hotloop.measure.stretches import FULL_S, Stretches

            full_s = settings.every_call_s or FULL_S
            stretches = Stretches(core, self._profiler.gauges, self._profiler.rested, full_s)
            self._recorder.watch(stretches.take)

    def end_watching(self) -> None:
        if self.watching is not None:
            self.watching.end()

    def end_telemetry(self) -> None:
        if self.telemetry is not None:
            self.telemetry.end()

    def detach(self) -> None:
        if self.hooks is not None:
            self.hooks.uninstall()

    def _alter(self, process: RunProcess, context: HookContext) -> None:
        settings = self._settings
        if process.role == MAIN and (settings.skip or settings.slow or settings.every):
            from hotloop.hooks import alter

            alterations = alter.begin(context, settings.skip, settings.slow, settings.every)
            self._recorder.ask(alterations.notes)

    def _watch_devices(self, context: HookContext) -> None:
        if not machine.accelerators():
            return  # the code that watches them is not even imported
        from hotloop.hooks.devices.watching import Watching

        watching = Watching.of_this_machine(context, self._settings.gpu)
        if watching is not None:
            self._record_watching(watching)

    def _record_watching(self, watching: Watching) -> None:
        self.watching = watching
        self._recorder.ask(watching.notes)
        self._recorder.every_window(watching.read_card)

    def _record_telemetry(self, telemetry: Telemetry | None) -> None:
        self.telemetry = telemetry
        if telemetry is not None:
            self._recorder.ask(telemetry.notes)
            self._recorder.every_window(telemetry.read)
            self._profiler.at_loop.append(telemetry.at_loop)

    def _record_curves(self, curves: CurveWriter | None, cost: RegionCost | None) -> None:
        self.curves = curves
        if curves is not None:
            curves.begin(cost)
            self._recorder.watch(curves.take)
