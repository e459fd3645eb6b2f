"""Starts the device watch of a session and writes its notes into the capture."""

from __future__ import annotations

import functools
import os
import sys
from typing import Any

from hotloop.capture.schema import Gpu, Notes
from hotloop.hooks.context import HookContext
from hotloop.hooks.devices.frameworks import TorchCuda, cards, known_devices
from hotloop.hooks.devices.jax import JaxDevice
from hotloop.hooks.wrapping import observe, put_hook
from hotloop.measure.cards import CardWatch
from hotloop.measure.device_watch import OFF, Device, DeviceWatch
from hotloop.measure.profiler import Profiler


class Watching:
    """One process's watch: the device's activity and memory, and its card once a second."""

    def __init__(self, profiler: Profiler, devices: list[Device], mode: str) -> None:
        self._profiler = profiler
        self.watch = DeviceWatch(profiler, devices, mode)
        self._cards: CardWatch | None = None
        self._gives_way = False
        profiler.at_loop.append(self.watch.begin)

    @classmethod
    def of_this_machine(cls, context: HookContext, mode: str) -> Watching | None:
        """A watch over this machine's devices; None if there are none."""
        if mode == OFF:
            return None
        devices = known_devices()
        if not devices:
            return None
        # Kineto would write lines of its own to standard error for every recording.
        os.environ.setdefault("KINETO_LOG_LEVEL", "99")
        watching = cls(context.profiler, devices, mode)
        context.on_import.append(functools.partial(watching._give_way, context))
        return watching

    def _give_way(self, context: HookContext, name: str) -> None:
        """There is one Kineto: when the program starts its profiler, hotloop stops recording."""
        # A module is imported many times, and hooked once.
        if self._gives_way or name != "torch" or "torch.autograd.profiler" not in sys.modules:
            return
        self._gives_way = True
        # Kineto complains on standard error if it first starts in a thread that did not import
        # torch.
        context.transfers.at_first = self.watch.prepare
        owner = sys.modules["torch.autograd.profiler"].profile
        prepare = observe(context, before=lambda *_, **__: self.watch.give_way())
        context.undo.append(put_hook(owner, "_prepare_trace", prepare))

    def read_card(self) -> None:
        """Once per window, in the recorder's thread: read the card's driver."""
        device = self.watch.device
        if not isinstance(device, (TorchCuda, JaxDevice)):
            return
        if self._cards is None:
            self._cards = cards(device)
        try:
            self._cards.read(self._profiler.gauges, device.uuid(), device.index(), device.used())
        except Exception as error:  # a device that was lost may fail anywhere
            self._cards = None
            self.watch.device = None
            self.watch.remarks.append(f"The device can no longer be read: {error!r:.200}.")

    def notes(self) -> dict[str, Any]:
        """Its notes in the capture."""
        try:
            notes = self.watch.notes()
        except Exception as error:
            return {Notes.gpu_failure: f"{error!r:.200}"}
        if notes and self._cards is not None:
            notes[Notes.gpu][Gpu.remarks] += self._cards.remarks
        return notes

    def end(self) -> None:
        self.watch.end()

    def after_fork(self) -> None:
        self.watch.after_fork()
        self._cards = None
