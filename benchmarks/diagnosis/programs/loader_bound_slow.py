"""Behaviour cloning from demonstrations whose features are computed in `__getitem__`."""

import numpy as np
import torch
from _training import network
from torch import nn
from torch.utils.data import DataLoader, Dataset

WINDOWS = 24


def features(row: np.ndarray) -> torch.Tensor:
    means = [np.convolve(row, np.ones(width) / width, "valid").mean() for width in range(1, 25)]
    return torch.tensor(np.asarray(means, np.float32))


class Demonstrations(Dataset):
    """Raw recordings and the expert's actions."""

    def __init__(self, count: int = 3000) -> None:
        rng = np.random.default_rng(0)
        self.raw = rng.normal(size=(count, 64)).astype(np.float32)
        self.actions = torch.from_numpy(rng.integers(0, 4, count))

    def __len__(self) -> int:
        return len(self.raw)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        return features(self.raw[index]), self.actions[index]


def main(dataset: Dataset, epochs: int = 20) -> None:
    torch.manual_seed(0)
    loader = DataLoader(
        dataset, batch_size=64, shuffle=True, num_workers=1, persistent_workers=True
    )
    policy = network(WINDOWS, 4, hidden=512)
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
    for _ in range(epochs):
        for observations, actions in loader:
            loss = nn.functional.cross_entropy(policy(observations), actions)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main(Demonstrations())
