"""Stable-Baselines3: a callback, for those who prefer one to `hotloop run`.

model.learn(100_000, callback=SB3Callback())
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from stable_baselines3.common.callbacks import BaseCallback

from hotloop.integrations.recording import Recording


class SB3Callback(BaseCallback):
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
        self._in_block = False
        self.recording = Recording(
            output, name=name, phases=phases, scalars=scalars, quiet=quiet
        ).begin()

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        if not self._in_block:
            self.recording.end()

    def __enter__(self) -> SB3Callback:
        self._in_block = True
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.recording.__exit__(kind, error, traceback)
