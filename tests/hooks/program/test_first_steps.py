"""Simulators without episodes, and methods that only look like their steps."""

from __future__ import annotations

from typing import Any

import pytest
from profiling import Profile

SWARM = """
import numpy as np
import torch

class Schwarm:
    def __init__(self):
        self.ort = np.zeros((8, 3), np.float32)
        self.stelle = 0

    def weiter(self, a):
        self.ort = self.ort + np.float32(0.1)
        self.stelle += 1
        {body}

schwarm, netz = Schwarm(), torch.nn.Linear(3, 2)
orte = schwarm.ort
for _ in range(50):
    with torch.no_grad():
        wahl = netz(torch.as_tensor(orte)).argmax(-1).numpy()
    orte, lohn = schwarm.weiter({given})
"""


@pytest.mark.parametrize(
    ("body", "given", "steps"),
    [
        ("return self.ort, -self.ort.sum(1)", "wahl", 400),
        ("return self.ort, -self.ort.sum(1, keepdims=True)", "wahl", 400),
        # a loader is told how many rows to return
        ("return self.ort, -self.ort.sum(1)", "8", 0),
        # moments of what it was given
        ("return self.ort, self.ort", "wahl", 0),
        # a policy with a state of its own
        ("n = netz(torch.as_tensor(self.ort)); return self.ort, -self.ort.sum(1)", "wahl", 0),
        # labels, not rewards
        ("return self.ort, np.zeros(8, np.int64)", "wahl", 0),
    ],
)
def test_a_simulator_without_episodes_has_a_result_for_each_action(
    profile: Profile, body: str, given: str, steps: int
) -> None:
    run: Any = profile(SWARM.replace("{body}", body).replace("{given}", given))
    assert run.counter("env_steps") == steps
    assert run.counter("episodes") == 0
