"""Phase times next to the program's own curves: TensorBoard, Weights & Biases, SB3's logger.

When the program writes a curve and enough time has passed, the figures since the previous point are
written to the same place, at the same step. hotloop adds no writer, file or step. In TensorBoard,
the points use the steps of one of the program's tags. In Weights & Biases, they join the row that
the program logs. In SB3's logger, they join the next dump, but not the table on standard output,
which is the program's. No random numbers are drawn, and the cost of writing is removed from the
figures.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from hotloop.analyze.over_time.curves import PREFIX, Curves
from hotloop.analyze.over_time.series import SeriesPoint, point_of
from hotloop.capture import schema
from hotloop.capture.values import RegionCost
from hotloop.capture.window import Window
from hotloop.hooks.install import Hooks
from hotloop.measure.profiler import Profiler

#: Seconds of training between two points: above a window's length, so that a point is a mean.
LEAST_S = 2.0
#: Later, a share of the time so far: the curve of a day has a few hundred points.
SHARE = 0.01
#: How often a program may leave out the tag that we follow before we follow another.
PATIENCE = 5

#: Not the program's table, and not the file that holds the same.
_NOT_IN_TABLES = ("stdout", "log")


@dataclass
class Sink:
    """One of the program's writers: what has been written there."""

    before: SeriesPoint = field(default_factory=SeriesPoint)
    tag: Any = None
    missed: int = 0
    last_step: float | None = None

    def follows(self, tag: Any, step: Any) -> bool:
        """Whether to write after this tag; a tag that no longer appears is replaced."""
        at = step if isinstance(step, (int, float)) else None
        if tag != self.tag and self.tag is not None:
            self.missed += 1
            backwards = at is not None and self.last_step is not None and at < self.last_step
            if self.missed < PATIENCE or backwards:
                return False
        self.tag, self.missed, self.last_step = tag, 0, at
        return True


class Scalars:
    """Hooks the functions with which programs write their curves."""

    def __init__(self, profiler: Profiler, hooks: Hooks) -> None:
        self._core = profiler.core
        self._clock = profiler._clock
        self._hooks = hooks
        self._targets: dict[str, tuple[str, str, Callable[[Any], Any]]] = {
            "torch.utils.tensorboard.writer": ("SummaryWriter", "add_scalar", self._after_scalar),
            "tensorboardX.writer": ("SummaryWriter", "add_scalar", self._after_scalar),
            # One function, bound in several modules: Keras's callback has the second.
            "tensorflow._api.v2.summary": ("", "scalar", self._after_tf),
            "tensorflow.summary": ("", "scalar", self._after_tf),
            "tensorflow._api.v2.compat.v2.summary": ("", "scalar", self._after_tf),
            "wandb.sdk.wandb_run": ("Run", "log", self._into_row),
            "stable_baselines3.common.logger": ("Logger", "dump", self._before_dump),
        }
        self.begin(None)
        hooks.on_import.append(self._imported)
        for name in list(self._targets):
            self._imported(name)

    def begin(self, cost: RegionCost | None) -> None:
        """Nothing has been measured yet, in this process."""
        self._cost = cost or RegionCost()
        self._total = SeriesPoint()
        self._memory_mb: float | None = None
        self._return: float | None = None
        self._curves = Curves()
        self._sinks: WeakKeyDictionary[Any, Sink] = WeakKeyDictionary()
        self._busy = False

    def take(self, window: Window) -> None:
        """A window has closed; those before the training loop do not count."""
        if window.loop_last_ns > 0:
            self._total = self._total.plus(point_of(window, self._cost))
            resident = window.gauges.get(schema.RESIDENT)
            self._memory_mb = resident / 1e6 if resident else self._memory_mb
            self._return = window.gauges.get(schema.RETURN_RECENT, self._return)

    # -- when, and what --

    def _due(self, writer: Any) -> Sink | None:
        """What is known of a writer, if the time for a point has come."""
        if self._busy:
            return None
        try:
            sink = self._sinks.setdefault(writer, Sink())
        except TypeError:
            return None  # a custom writer that cannot be distinguished from others
        total = self._total
        passed = total.seconds - sink.before.seconds
        return sink if passed >= max(LEAST_S, SHARE * total.seconds) else None

    def _figures(self, sink: Sink) -> dict[str, float]:
        total = self._total
        since = total.plus(sink.before, -1.0)
        found = self._curves.figures(since, self._memory_mb, self._return)
        if found:
            sink.before = total
        return found

    def _own_work(self, call: Callable[[], None]) -> None:
        """Do hotloop's own work: errors are caught, and its time is not the program's."""
        begin = self._clock()
        self._busy = True
        try:
            call()
        except Exception as error:
            self._hooks.failures["scalars"] = repr(error)
        finally:
            self._busy = False
            self._core.skip(self._clock() - begin)

    # -- where --

    def _imported(self, name: str) -> None:
        target = self._targets.get(name)
        module = sys.modules.get(name)
        if target is None or module is None or getattr(module.__spec__, "_initializing", False):
            return
        owner = getattr(module, target[0]) if target[0] else module
        del self._targets[name]
        self._hooks.redirect(owner, target[1], target[2])

    def _after_scalar(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """TensorBoard's `add_scalar`, torch's and tensorboardX's."""
        plain = self._core.original(original)  # hotloop's own points are not a `log` phase

        def add_scalar(writer: Any, *args: Any, **kwargs: Any) -> Any:
            result = original(writer, *args, **kwargs)
            tag, step = _argument(args, kwargs, 0, "tag"), _argument(args, kwargs, 2, "global_step")
            self._write_behind(writer, tag, step, functools.partial(plain, writer))
            return result

        return add_scalar

    def _after_tf(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """TensorFlow's `tf.summary.scalar`, which Keras's TensorBoard callback uses."""

        def scalar(*args: Any, **kwargs: Any) -> Any:
            result = original(*args, **kwargs)
            tf = sys.modules["tensorflow"]
            state = sys.modules["tensorflow.python.ops.summary_ops_v2"]._summary_state
            # Inside a graph this line runs once, while it is traced.
            if self._busy or state.writer is None or not tf.executing_eagerly():
                return result
            name, step = _argument(args, kwargs, 0, "name"), _argument(args, kwargs, 2, "step")
            self._write_behind(state.writer, name, step, original)
            return result

        return scalar

    def _write_behind(self, writer: Any, tag: Any, step: Any, put: Callable[..., Any]) -> None:
        """Follow a tag of the program with the figures: `put(name, figure, step)`."""
        sink = self._due(writer)
        if sink is None or not sink.follows(tag, step):
            return

        def write() -> None:
            for name, figure in self._figures(sink).items():
                put(name, figure, step)

        self._own_work(write)

    def _into_row(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`wandb.log`: a row of its own would be a step of its own."""

        def log(run: Any, *args: Any, **kwargs: Any) -> Any:
            data = _argument(args, kwargs, 0, "data")
            sink = self._due(run) if isinstance(data, dict) else None
            # Such a run already gets what is written to TensorBoard.
            if sink is None or getattr(run.settings, "sync_tensorboard", False):
                return original(run, *args, **kwargs)
            row = dict(data)
            self._own_work(lambda: row.update(self._figures(sink)))
            kwargs.pop("data", None)
            return original(run, row, *args[1:], **kwargs)

        return log

    def _before_dump(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Stable-Baselines3's logger, whatever it writes to."""

        def dump(logger: Any, *args: Any, **kwargs: Any) -> Any:
            sink = self._due(logger)
            if sink is None:
                return self._quietly(original, logger, *args, **kwargs)

            def write() -> None:
                for name, figure in self._figures(sink).items():
                    logger.name_to_value[name] = figure
                    logger.name_to_excluded[name] = _NOT_IN_TABLES

            self._own_work(write)
            return self._quietly(original, logger, *args, **kwargs)

        return dump

    def _quietly(self, call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """A logger's own TensorBoard writer is not a separate writer."""
        before, self._busy = self._busy, True
        try:
            return call(*args, **kwargs)
        finally:
            self._busy = before


def _argument(args: tuple[Any, ...], kwargs: dict[str, Any], index: int, name: str) -> Any:
    return args[index] if len(args) > index else kwargs.get(name)


__all__ = ["PREFIX", "Scalars"]
