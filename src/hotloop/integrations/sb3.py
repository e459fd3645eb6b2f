"""Stable-Baselines3: a callback, for those who prefer one to `hotloop run`.

model.learn(100_000, callback=SB3Callback())
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from stable_baselines3.common.callbacks import BaseCallback

from hotloop.integrations.recording import Recording, RecordingCallback


class SB3Callback(RecordingCallback, BaseCallback):
    """Measures from when it is made to the end of `learn`, then prints the report.

    As a `with` block it measures up to the end of the block, over several calls of `learn`. Under
    `hotloop run` it only writes scalars.
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
        self.recording = Recording(
            output, name=name, phases=phases, scalars=scalars, quiet=quiet
        ).begin()

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self.training_ended()
