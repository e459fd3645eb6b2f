"""The Q-network: from what a snake sees to the worth of going straight, right or left."""

from __future__ import annotations

import hashlib

from boards import TURNS
from torch import Tensor, nn


class QNetwork(nn.Module):
    """A small perceptron with two hidden layers."""

    def __init__(self, features: int, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, hidden),
            nn.ReLU(),
            nn.Linear(hidden, hidden),
            nn.ReLU(),
            nn.Linear(hidden, len(TURNS)),
        )

    def forward(self, observations: Tensor) -> Tensor:
        values: Tensor = self.layers(observations)
        return values


def fingerprint(network: nn.Module) -> str:
    """A short name for the exact weights: equal for two runs that learned the same to the bit."""
    digest = hashlib.sha256()
    for weights in network.state_dict().values():
        digest.update(weights.detach().cpu().numpy().tobytes())
    return digest.hexdigest()[:16]
