"""Keras: a callback, for those who prefer one to `hotloop run`.

with KerasCallback() as hotloop:
    model.fit(x, y, callbacks=[hotloop])
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import keras

from hotloop import get_profiler
from hotloop.integrations.recording import Recording, RecordingCallback


class KerasCallback(RecordingCallback, keras.callbacks.Callback):  # type: ignore[misc,unused-ignore]
    """Measures from when it is made to the end of `fit`, then prints the report.

    As a `with` block it measures up to the end of the block: an agent that calls `fit` or
    `train_on_batch` again and again is measured as a whole. Under `hotloop run` it only writes
    scalars.
    """

    def __init__(
        self,
        output: str | Path | None = None,
        *,
        name: str | None = None,
        phases: Sequence[str] = (),
        scalars: bool = True,
        quiet: bool = False,
    ) -> None:
        super().__init__()
        core = get_profiler().core
        self._is_open = core.is_open
        self._regions = [core.region("learn"), core.region("learn.fit")]
        self._open: list[Any] = []
        self.recording = Recording(
            output, name=name, phases=phases, scalars=scalars, quiet=quiet
        ).begin()

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        # Where hooks cannot be attached in place, Python has looked `fit` up before the callback in
        # `model.fit(…, callbacks=[KerasCallback()])` was made, so this call of it has no hook.
        if not self._is_open("learn"):
            self._open = list(self._regions)
            for region in self._open:
                region.enter()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        while self._open:
            self._open.pop().exit()
        self.training_ended()
