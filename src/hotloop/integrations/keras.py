"""Keras: a callback, for those who prefer one to `hotloop run`.

with KerasCallback() as hotloop:
    model.fit(x, y, callbacks=[hotloop])
"""

from __future__ import annotations

from typing import Any

import keras

from hotloop import get_profiler
from hotloop.integrations.recording import RecordingCallback


class KerasCallback(RecordingCallback, keras.callbacks.Callback):  # type: ignore[misc,unused-ignore]
    """Measures from when it is made to the end of `fit`, then prints the report.

    As a `with` block it measures up to the end of the block: an agent that calls `fit` or
    `train_on_batch` again and again is measured as a whole. Under `hotloop run` it only writes
    scalars.
    """

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        # Where hooks cannot be attached in place, Python has looked `fit` up before the callback in
        # `model.fit(…, callbacks=[KerasCallback()])` was made, so this call of it has no hook.
        core = get_profiler().core
        names = () if core.is_open("learn") else ("learn", "learn.fit")
        self._open = [core.region(name) for name in names]
        for region in self._open:
            region.enter()

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        for region in reversed(self._open):
            region.exit()
        self.training_ended()
