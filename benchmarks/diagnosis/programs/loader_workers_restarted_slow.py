"""Short epochs over a dataset of demonstrations, each with new loader workers."""

import torch
from _training import network
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main(epochs: int = 60, **options: object) -> None:
    torch.manual_seed(0)
    dataset = TensorDataset(torch.randn(512, 16), torch.randint(0, 4, (512,)))
    loader = DataLoader(dataset, batch_size=64, shuffle=True, num_workers=2, **options)
    policy = network(16, 4, hidden=256)
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
    for _ in range(epochs):
        for observations, actions in loader:
            loss = nn.functional.cross_entropy(policy(observations), actions)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
