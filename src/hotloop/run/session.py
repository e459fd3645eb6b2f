"""A session: all of hotloop's work inside one process of a run, from start to end.

The main process starts a session from the command line; a child starts its own (`children`). A
session enables the shared profiler, samples, records, and closes its shard however the process
ends.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any

from hotloop.capture.schema import Header, Notes
from hotloop.capture.values import RegionCost
from hotloop.capture.writer import ShardWriter
from hotloop.measure.calibrate import measure_cost
from hotloop.measure.own_threads import OwnThread
from hotloop.measure.shared import get_profiler
from hotloop.measure.unpatched import getpid
from hotloop.run.attachments import Attachments
from hotloop.run.current import current_session, replace_after_fork, set_current
from hotloop.run.exits import Exits
from hotloop.run.functions import FunctionTimes, samples_per_second
from hotloop.run.header import process_header
from hotloop.run.messages import notify
from hotloop.run.naming import FORKED, MAIN, STARTED, create_file, process_name
from hotloop.run.recorder import Recorder
from hotloop.run.settings import Invitation, Settings
from hotloop.run.termination import Termination

if TYPE_CHECKING:
    from hotloop.capture.slices import SliceWriter
    from hotloop.hooks.install import Hooks
    from hotloop.hooks.telemetry.weights import WeightsAtEnd
    from hotloop.run.stopping import StopAfter, Stopper


class Session:
    """One process's part of a run."""

    def __init__(
        self, settings: Settings, role: str = MAIN, root_code: CodeType | None = None
    ) -> None:
        self.settings = settings
        self.role = role
        self.profiler = get_profiler()
        #: How the program ended, once that is known.
        self.exit: dict[str, Any] = {}
        self.on_finish: Callable[[], None] | None = None
        #: Called when this process has nothing left to do.
        self.at_the_very_end: Callable[[], None] = lambda: None
        self.finished = False
        #: Folders above the capture's that did not exist before.
        self.made_folders: list[Path] = []
        self._cost: RegionCost | None = None
        self._command: list[str] | None = None
        self._pid = getpid()
        self._exits = Exits()
        self._invitation = Invitation()
        self.recorder = Recorder(self.profiler, self._open_shard, settings.window_s)
        self.attached = Attachments(self.profiler, self.recorder, settings)
        self._functions = FunctionTimes(self.profiler, settings, root_code, self._open_trace)
        self._stops: Stopper | None = None
        self._stopping: OwnThread | None = None
        self._weights: WeightsAtEnd | None = None
        if settings.weights and role == MAIN:
            from hotloop.hooks.telemetry.weights import WeightsAtEnd

            self._weights = WeightsAtEnd()
            self.recorder.ask(self._weights.notes)
        self._termination = Termination(
            self.profiler.core, lambda: self.finish(shows=False, reason="SIGTERM")
        )

    @property
    def is_away(self) -> bool:
        """Whether this machine does not have the capture's folder."""
        return bool(self.settings.away_from)

    @property
    def folder(self) -> str:
        """Where the files of this process go."""
        return self.settings.folder

    @property
    def run(self) -> str:
        """A name for the capture that other captures do not have."""
        folder = self.settings.away_from or self.settings.folder
        return re.sub(r"[^A-Za-z0-9_.-]+", "-", folder)

    def every_window(self, call: Callable[[], None]) -> None:
        """Call this before each window closes, in the recorder's thread."""
        self.recorder.every_window(call)

    @property
    def unnamed(self) -> bool:
        """Whether this process has joined a run and has no name yet."""
        return self.role in (FORKED, STARTED)

    @property
    def hooks(self) -> Hooks | None:
        return self.attached.hooks

    def environment(self) -> dict[str, str]:
        """The variables with which a child process joins this run."""
        return self.settings.environment()

    # -- start --

    def start(self, command: list[str] | None = None, only_forks: bool = False) -> None:
        """Start measuring this process.

        A process that only forks others (a fork server) gets no threads, because a fork copies
        none of them and may copy a lock that one of them holds. Nor is it a worker: what it
        imports for its children is not recorded.
        """
        self._command = command
        self.profiler.reset()
        self._cost = measure_cost()
        if self.role == MAIN:
            self.recorder.open()
        if self.role == MAIN or command is not None or self.is_away:
            self._invitation.put(self.settings)
        set_current(self)
        self.profiler.enable()
        if only_forks:
            self.recorder.discard()
        else:
            self._begin_threads()
        self._exits.watch(self.profiler.core)
        if self.made_folders:
            self._exits.share(self.profiler.core, self.made_folders)
        replace_after_fork(Session.fork)
        self.attached.attach(self, self._cost)

    def fork(self) -> Session:
        """In a forked child: return a session of its own, made from this one."""
        self.recorder.after_fork()
        self.profiler.after_fork()
        child = Session(self.settings, role=FORKED, root_code=self._functions.root_code)
        child._cost, child._command = self._cost, self._command
        child.attached.inherit(self.attached, child, self._cost)
        child._begin_threads()
        return child

    def stop_after(self, limit: StopAfter) -> Stopper:
        """End the program when it reaches the limit."""

        stopper = self._stopper()
        if limit.what == "seconds":
            self.profiler.at_loop.append(stopper.training_began)
            self.recorder.every_window(stopper.watch_training(Path(self.settings.folder)))
            self._stopping = OwnThread(stopper.stop_in(limit, lambda: self.finished))
            self._stopping.start()
        else:
            self.profiler.core.watch(limit.what, limit.amount, self._stop_by(stopper))
            self.recorder.every_window(stopper.watch_counter(Path(self.settings.folder), limit))
        self.recorder.note(Notes.stop_after, str(limit))
        # A program may end by itself before that.
        self.recorder.ask(lambda: {Notes.stop_reached: stopper.asked})
        return stopper

    def stop_at_return(self, target: float) -> Stopper:
        """End the program when the mean return of its last 100 episodes reaches the target."""

        stopper = self._stopper()
        assert self.attached.context is not None
        self.attached.context.returns.watch(target, self._stop_by(stopper))
        return stopper

    def write_curves(self, writer: str) -> None:
        """From now on, write figures next to the program's curves."""
        self.attached.write_curves(writer, self._cost)

    # -- end --

    def finish(self, shows: bool = True, **end: Any) -> None:
        """Close the capture of this process; safe to call twice.

        The program's end waits for this, so no step of it may raise, and each is bounded in time.
        """
        if self.finished or self._pid != getpid():
            return
        self.finished = True
        self._guarded(self._termination.defer)
        try:
            self._close_capture({**self.exit, **end})
        finally:  # SIGTERM waits for this
            self._guarded(self._termination.end)
        if shows and self.on_finish is not None:
            self._guarded(self.on_finish)

    def _close_capture(self, end: dict[str, Any]) -> None:
        self._guarded(self._end_stopping)
        self._take_weights()
        self._guarded(self._functions.end_samples)
        self._guarded(self.attached.end_watching)
        self._guarded(self._functions.end_exact, self.recorder)
        self._guarded(self.attached.end_telemetry)
        disk_responds = self.recorder.finish(end)
        self._guarded(self.profiler.disable)
        tracer, self.profiler.tracer = self.profiler.tracer, None
        if tracer is not None and disk_responds:
            self._guarded(tracer.finish)

    def _end_stopping(self) -> None:
        """No thread of hotloop's may call Python while the interpreter ends."""
        if self._stopping is not None and not self._stopping.is_current:
            self._stopping.wake()
            self._stopping.join(1.0)

    def leave(self) -> None:
        """After `finish`, in a process that continues: restore everything."""
        self._exits.release()
        self.attached.detach()
        self._invitation.remove()
        self.profiler.leave()
        if current_session() is self:
            set_current(None)

    # -- inside --

    def _stopper(self) -> Stopper:
        """One for all limits: it has the main thread's signal."""
        from hotloop.run.stopping import Stopper

        if self._stops is None:
            self._stops = Stopper(notify, is_open=self.profiler.core.is_open)
            self.recorder.every_window(self._stops.check)
        return self._stops

    def _stop_by(self, stopper: Stopper) -> Callable[[], None]:
        """Ends the program, after its weights have been recorded."""

        def stop() -> None:
            self._take_weights()
            stopper.stop()

        return stop

    def _take_weights(self) -> None:
        if self._weights is not None:
            self._guarded(self._weights.take)

    def _begin_threads(self) -> None:
        self._functions.begin(self.role, self.recorder)
        self.recorder.start()
        self._termination.begin()

    def _open_shard(self) -> ShardWriter:
        header = process_header(
            self.profiler,
            process_name(self.role),
            self._command,
            self._cost,
            {
                Header.functions: self.settings.functions,
                Header.samples_per_second: samples_per_second(self.role),
            },
        )
        folder = Path(self.settings.folder)
        if self.is_away:  # only now: most Ray workers never have anything to record
            folder.mkdir(mode=0o700, exist_ok=True)
        return create_file(folder, self.role, lambda at, name: ShardWriter(at, name, header))

    def _open_trace(self) -> SliceWriter:
        from hotloop.capture.slices import SliceWriter  # most runs keep no trace

        header = process_header(self.profiler, process_name(self.role), self._command)
        header[Header.byteorder] = sys.byteorder
        folder = Path(self.settings.folder)
        return create_file(folder, self.role, lambda at, name: SliceWriter(at, name, header))

    def _guarded(self, step: Callable[..., object], *args: Any) -> None:
        try:
            step(*args)
        except Exception as error:
            name = getattr(step, "__name__", "a step")
            notify(f"{name} failed at the end of the run ({error!r})")
