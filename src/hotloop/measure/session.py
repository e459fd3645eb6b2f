"""Everything that hotloop does inside one process of a run, from its start to any kind of end.

The main process starts a session from the command line; a child starts its own, after a fork or
from what its parent left in the environment. A session switches the global profiler on, samples,
records, and closes its shard whatever way the process ends.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar

from hotloop import get_profiler
from hotloop.capture.writer import ShardWriter
from hotloop.measure import machine
from hotloop.measure.calibrate import Cost, measure_cost
from hotloop.measure.core import Sampler
from hotloop.measure.ends import Ends
from hotloop.measure.facts import process_header
from hotloop.measure.recorder import WINDOW_SECONDS, Recorder

if TYPE_CHECKING:
    from hotloop.hooks.facts import Facts
    from hotloop.hooks.install import Hooks
    from hotloop.hooks.own_code import OwnCode
    from hotloop.hooks.watching import Watching
    from hotloop.integrations.scalars import Scalars
    from hotloop.measure.stopping import StopAfter, Stopper

T = TypeVar("T")

#: Where a child process finds the session that it belongs to.
ENVIRONMENT = "HOTLOOP_SESSION"

#: The folder whose `sitecustomize` lets them join.
BOOTSTRAP = Path(__file__).resolve().parent.parent / "bootstrap"

#: Roles of processes that have no name yet when they join.
FORKED, STARTED = "child", "program"

SAMPLES_PER_SECOND = 100


@dataclass(frozen=True)
class Settings:
    """What a run was asked to do; its children do the same."""

    folder: str
    functions: str = "samples"
    phases: list[str] = field(default_factory=list)
    quiet: bool = False
    #: Phases of the main process to skip or to slow down; see `hooks/alter.py`.
    skip: list[str] = field(default_factory=list)
    slow: list[str] = field(default_factory=list)
    #: How many single calls to keep for a trace.
    trace: int = 0
    #: Put figures beside the program's own curves; see `integrations/scalars.py`.
    scalars: bool = False
    window_s: float = WINDOW_SECONDS
    #: How much of a device's activity to record: off, windows or full.
    gpu: str = "windows"


class Session:
    """One process's part of a run."""

    current: Session | None = None
    _sees_forks = False

    def __init__(
        self, settings: Settings, role: str = "main", root_code: CodeType | None = None
    ) -> None:
        self.settings = settings
        self.role = role
        self.profiler = get_profiler()
        self.exit: dict[str, Any] = {}
        self.on_finish: Callable[[], None] | None = None
        #: A program that Ctrl-C ended dies of that signal at the very end, as Python lets it.
        self.dies_of: signal.Signals | None = None
        self._root_code = root_code
        self._cost: Cost | None = None
        self._finished = False
        self._pid = os.getpid()
        self._exact: Any = None
        self._ends = Ends(self)
        self._environment_before: dict[str, str | None] = {}
        self.hooks: Hooks | None = None
        #: The program's own functions that are phases, once the hooks are on.
        self.own_code: OwnCode | None = None
        #: What rules need beside times.
        self.facts: Facts | None = None
        #: Looks at the accelerator, where there is one.
        self.watching: Watching | None = None
        self.scalars: Scalars | None = None
        self.recorder = self._new_recorder()

    # -- beginning --

    def start(self, command: list[str] | None = None, threads: bool = True) -> None:
        """Begin to measure this process.

        A process that only forks others (a fork server) gets no threads: a fork copies none of
        them, and may copy a lock that one of them holds.
        """
        self._command = command
        self.profiler.reset()
        self._cost = measure_cost()
        if self.role == "main":
            self.recorder.open()
            self._invite_children()
        Session.current = self
        self.profiler.enable()
        if threads:
            self._begin_functions()
            self.recorder.start()
        self._catch_every_end()
        self._put_hooks_on()

    def stop_after(self, limit: StopAfter) -> None:
        """End the program when it has done that much."""
        from hotloop.measure.stopping import Stopper

        stopper = Stopper(say)
        if limit.what == "seconds":
            due = time.monotonic() + limit.amount
            threading.Thread(
                target=self._stop_at, args=(stopper, due), name="hotloop-stop", daemon=True
            ).start()
        else:
            self.profiler.core.watch(limit.what, limit.amount, stopper.stop)
            self.recorder.every_window(stopper.looks_at(Path(self.settings.folder), limit))
        self.recorder.every_window(stopper.check)
        self.recorder.note("stop_after", str(limit))
        # A program may end by itself before that.
        self.recorder.ask(lambda: {"stop_reached": stopper.asked})

    def summary_every(self, seconds: float) -> None:
        """Print a short breakdown every so often."""
        due = [time.monotonic() + seconds]

        def show() -> None:
            if time.monotonic() >= due[0]:
                due[0] += seconds
                print(self.profiler.summary(), file=sys.stderr, flush=True)

        self.recorder.every_window(show)

    # -- ending --

    def finish(self, **end: Any) -> None:
        """Close the capture of this process; safe to call twice."""
        if self._finished or self._pid != os.getpid():
            return
        self._finished = True
        if self.profiler.sampler is not None:
            self.profiler.sampler.stop()
        if self.watching is not None:
            self.watching.end()
        self._end_functions()
        if self.facts is not None:
            self.facts.say_all()
        disk_answers = self.recorder.finish({**self.exit, **end})
        self.profiler.disable()
        if self.profiler.tracer is not None:
            if disk_answers:
                self.profiler.tracer.finish()
            self.profiler.tracer = None
        if self.on_finish is not None:
            self.on_finish()
        if self.dies_of is not None and os.name == "posix":
            sys.stdout.flush()
            signal.signal(self.dies_of, signal.SIG_DFL)
            os.kill(os.getpid(), self.dies_of)

    def _catch_every_end(self) -> None:
        self._ends.catch()
        if hasattr(os, "register_at_fork") and not Session._sees_forks:
            os.register_at_fork(after_in_child=_after_fork)  # which cannot be taken back
            Session._sees_forks = True

    def leave(self) -> None:
        """After `finish`, in a process that goes on: everything is again as it was."""
        self._ends.let_go()
        if self.hooks is not None:
            self.hooks.uninstall()
        for name, value in self._environment_before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value
        self.profiler.leave()
        if Session.current is self:
            Session.current = None

    # -- children --

    def fork(self) -> Session:
        """In a forked child: a session of its own, from this one's."""
        self.recorder.after_fork()
        self.profiler.after_fork()
        child = Session(self.settings, role=FORKED, root_code=self._root_code)
        child._cost, child._command = self._cost, self._command
        child._record_facts(self.facts)
        if self.watching is not None:
            self.watching.after_fork()
            child._record_watching(self.watching)
        child._write_scalars(self.scalars)
        child._begin_functions()
        child.recorder.start()
        return child

    def environment(self) -> dict[str, str]:
        """The variables with which a child process joins this run."""
        paths = [str(BOOTSTRAP)]
        paths += [p for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p not in paths]
        return {
            ENVIRONMENT: json.dumps(asdict(self.settings)),
            "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        }

    def _invite_children(self) -> None:
        invitation = self.environment()
        self._environment_before = {name: os.environ.get(name) for name in invitation}
        os.environ.update(invitation)

    def _put_hooks_on(self) -> None:
        from hotloop.hooks import env_facts
        from hotloop.hooks.facts import Facts
        from hotloop.hooks.install import Hooks
        from hotloop.hooks.line_names import LineNames
        from hotloop.hooks.own_code import OwnCode

        if self.role == "main" and (self.settings.skip or self.settings.slow):
            from hotloop.hooks import alter

            alterations = alter.begin(self.profiler, self.settings.skip, self.settings.slow)
            self.recorder.ask(alterations.notes)
        env_facts.start_over()
        hooks = self.hooks = Hooks(self.profiler)
        self.recorder.ask(hooks.notes)
        self.recorder.ask(env_facts.growth.notes)
        self.own_code = OwnCode(hooks, self.profiler, self.settings.phases)
        self.recorder.ask(self.own_code.notes)
        self.recorder.ask(LineNames(self.profiler).notes)
        self.recorder.every_window(self.own_code.look_at_main)
        facts = Facts(hooks, self.profiler)
        facts.install()
        self._record_facts(facts)
        self._watch_devices(hooks)
        hooks.install()
        if self.settings.scalars:
            self.write_scalars()

    def _watch_devices(self, hooks: Hooks) -> None:
        if not machine.accelerators():
            return  # what watches them is not even loaded, in no worker either
        from hotloop.hooks.watching import Watching

        watching = Watching.of_this_machine(hooks, self.profiler, self.settings.gpu)
        if watching is not None:
            self._record_watching(watching)

    def _record_watching(self, watching: Watching) -> None:
        self.watching = watching
        self.recorder.ask(watching.notes)
        self.recorder.every_window(watching.look)

    def _record_facts(self, facts: Facts | None) -> None:
        self.facts = facts
        if facts is not None:
            self.recorder.ask(facts.notes)
            self.recorder.every_window(facts.look)
            self.profiler.at_loop.append(facts.at_loop)

    def write_scalars(self) -> None:
        """From now on, put figures beside the program's own curves."""
        from hotloop.integrations.scalars import Scalars

        if self.scalars is None and self.hooks is not None:
            self._write_scalars(Scalars(self.profiler, self.hooks))

    def _write_scalars(self, scalars: Scalars | None) -> None:
        self.scalars = scalars
        if scalars is not None:
            scalars.begin(self._cost)
            self.recorder.watch(scalars.take)

    # -- inside --

    def _new_recorder(self) -> Recorder:
        return Recorder(self.profiler, self._open_shard, self.settings.window_s)

    def _open_shard(self) -> ShardWriter:
        header = process_header(
            self.profiler,
            self._name(),
            self._command,
            self._cost,
            {"functions": self.settings.functions, "samples_per_second": SAMPLES_PER_SECOND},
        )
        return self._open(lambda folder, name: ShardWriter(folder, name, header))

    def _open(self, make: Callable[[Path, str], T]) -> T:
        """A file of this process's own in the capture, whatever others have called theirs."""
        folder = Path(self.settings.folder)
        if self.role == "main":
            return make(folder, "main")
        stem = f"{re.sub(r'[^A-Za-z0-9_-]+', '-', self._name())[:40]}-{os.getpid()}"
        for attempt in range(1000):
            try:
                return make(folder, f"{stem}-{attempt}" if attempt else stem)
            except FileExistsError:
                continue  # another host's process of that number
        raise FileExistsError(stem)

    def _begin_trace(self) -> None:
        if not self.settings.trace:
            return
        from hotloop.capture.slices import SliceWriter
        from hotloop.measure.trace import Tracer, byteorder, most_slices

        def open_file() -> SliceWriter:
            header = process_header(self.profiler, self._name(), self._command)
            header["byteorder"] = byteorder()
            return self._open(lambda folder, name: SliceWriter(folder, name, header))

        most = most_slices(self.settings.trace, self.role)
        self.profiler.tracer = Tracer(self.profiler.core, open_file, most, say)
        self.profiler.tracer.start()

    @property
    def unnamed(self) -> bool:
        """Whether this process has joined a run and nobody has named it yet."""
        return self.role in (FORKED, STARTED)

    def _name(self) -> str:
        """How people know this process; a child's is asked for late, when it has got its name."""
        return _child_name(self.role) if self.unnamed else self.role

    def _begin_functions(self) -> None:
        if self.settings.functions == "exact" and self.role == "main":
            import cProfile

            self._exact = cProfile.Profile()
            self._exact.enable()
        if self.settings.functions == "samples":
            interval = int(1e9 / SAMPLES_PER_SECOND)
            self.profiler.sampler = Sampler(self.profiler.core, interval, self._root_code)
            self.profiler.sampler.start()
        self._begin_trace()

    def _end_functions(self) -> None:
        if self._exact is not None:
            from hotloop.measure.exact import exact_functions

            self._exact.disable()
            path = Path(self.settings.folder) / "main.prof"
            try:
                self._exact.dump_stats(path)
            except OSError as error:
                say(f"{path}: cannot be written ({error.strerror})")
            self.recorder.note("exact_functions", exact_functions(self._exact))
            self._exact = None

    def _stop_at(self, stopper: Stopper, due: float) -> None:
        while (left := due - time.monotonic()) > 0:
            time.sleep(min(left, 1.0))
            if self._finished:
                return
        stopper.stop()


def _child_name(role: str) -> str:
    rank = os.environ.get("RANK", "")
    if rank.isdigit():  # torchrun and its like
        return f"rank-{rank}"
    multiprocessing = sys.modules.get("multiprocessing.process")
    if multiprocessing is not None:
        name = str(multiprocessing.current_process().name)
        if name != "MainProcess":
            return name
    if role == STARTED and sys.argv and sys.argv[0] not in ("", "-c", "-m"):
        return Path(sys.argv[0]).stem
    return FORKED


def _after_fork() -> None:
    parent = Session.current
    if parent is not None and not parent._finished:
        Session.current = parent.fork()


def join_from_environment() -> None:
    """In a child process that has just started: join the run that its parent is part of."""
    arguments = " ".join(sys.orig_argv)
    if "multiprocessing.resource_tracker" in arguments or Session.current is not None:
        return
    known = {each.name for each in fields(Settings)}
    saved = json.loads(os.environ[ENVIRONMENT])
    settings = Settings(**{key: value for key, value in saved.items() if key in known})
    if not os.path.isdir(settings.folder):
        return
    forks_others = "multiprocessing.forkserver" in arguments
    Session(settings, role=STARTED).start(threads=not forks_others)


def say(text: str) -> None:
    """A line of hotloop's own, on standard error."""
    try:
        print(f"hotloop: {text}", file=sys.stderr, flush=True)
    except (OSError, ValueError):
        pass  # a closed pipe: nobody is listening
