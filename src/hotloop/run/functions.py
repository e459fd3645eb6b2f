"""Function times: samples, exact times with cProfile, and single calls for a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import CodeType
from typing import TYPE_CHECKING

from hotloop.capture.schema import Notes
from hotloop.measure.core import Sampler
from hotloop.measure.profiler import Profiler
from hotloop.run.messages import notify
from hotloop.run.naming import MAIN
from hotloop.run.recorder import Recorder
from hotloop.run.settings import Settings

if TYPE_CHECKING:
    from cProfile import Profile

    from hotloop.capture.slices import SliceWriter

SAMPLES_PER_SECOND = 100
#: There may be many workers, and all do the same.
WORKER_SAMPLES_PER_SECOND = 25


def samples_per_second(role: str) -> int:
    """How often a process of that role is sampled."""
    return SAMPLES_PER_SECOND if role == MAIN else WORKER_SAMPLES_PER_SECOND


class FunctionTimes:
    """One process's functions, from the start of its session to the end."""

    def __init__(
        self,
        profiler: Profiler,
        settings: Settings,
        root_code: CodeType | None,
        open_trace: Callable[[], SliceWriter],
    ) -> None:
        self._profiler = profiler
        self._settings = settings
        self.root_code = root_code
        self._open_trace = open_trace
        self._exact: Profile | None = None

    def begin(self, role: str, recorder: Recorder) -> None:
        if self._settings.functions == "exact" and role == MAIN:
            from hotloop.run.exact import start_exact

            self._exact = start_exact(self._profiler.core)
        if self._settings.functions == "samples":
            interval = int(1e9 / samples_per_second(role))
            sampler = Sampler(self._profiler.core, interval, self.root_code)
            self._profiler.sampler = sampler
            sampler.start()
            if limits := sampler.figures()["limits"]:
                recorder.note(Notes.sampling_limits, limits)
        if self._settings.trace:
            from hotloop.measure.trace import Tracer, most_slices

            most = most_slices(self._settings.trace, role)
            self._profiler.tracer = Tracer(self._profiler.core, self._open_trace, most, notify)
            self._profiler.tracer.start()

    def end_samples(self) -> None:
        if self._profiler.sampler is not None:
            self._profiler.sampler.stop()

    def end_exact(self, recorder: Recorder) -> None:
        """Write the exact times next to the capture, and the largest of them into it."""
        if self._exact is None:
            return
        from hotloop.run.exact import exact_functions

        exact, self._exact = self._exact, None
        exact.disable()
        path = Path(self._settings.folder) / "main.prof"
        try:
            exact.dump_stats(path)
        except OSError as error:
            notify(f"{path}: cannot be written ({error.strerror})")
        recorder.note(Notes.exact_functions, exact_functions(exact))
