"""Stable-Baselines3: a callback, for those who prefer one to `hotloop run`.

model.learn(100_000, callback=SB3Callback())
"""

from __future__ import annotations

from stable_baselines3.common.callbacks import BaseCallback

from hotloop.integrations.recording import RecordingCallback


class SB3Callback(RecordingCallback, BaseCallback):
    """Measures from when it is made to the end of `learn`, then prints the report.

    As a `with` block it measures up to the end of the block, over several calls of `learn`. Under
    `hotloop run` it only writes scalars.
    """

    def _on_step(self) -> bool:
        return True

    def _on_training_end(self) -> None:
        self.training_ended()
