"""A scripted function with a name that looks like a phase."""

# shares: torch
import torch


def learn(batch: torch.Tensor, gamma: float) -> torch.Tensor:
    total = torch.zeros(1)
    for index in range(batch.shape[0]):
        total = total * gamma + batch[index]
    return total


def compute_advantages(rewards: torch.Tensor) -> torch.Tensor:
    return rewards - rewards.mean()


print(
    learn(torch.ones(3), 0.5),
    torch.jit.script(learn)(torch.ones(3), 0.5),
    torch.jit.script(compute_advantages)(torch.arange(3.0)),
)
