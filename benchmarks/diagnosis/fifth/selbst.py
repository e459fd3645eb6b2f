# plants: nothing
"""Healthy: self-play of 1024 games of Connect Three at once, boards as one tensor."""

import time

import torch
from torch import nn

torch.manual_seed(0)
GAMES, ROWS, COLUMNS = 1024, 4, 5
KERNELS = torch.zeros(4, 1, 3, 3)
KERNELS[0, 0, 1], KERNELS[1, 0, :, 1] = 1.0, 1.0
KERNELS[2, 0] = torch.eye(3)
KERNELS[3, 0] = torch.eye(3).flip(0)


def won(stones):
    return (nn.functional.conv2d(stones[:, None], KERNELS, padding=1) > 2.5).flatten(1).any(1)


class Policy(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.head = nn.Linear(32 * ROWS * COLUMNS, COLUMNS)

    def forward(self, own, other):
        return self.head(self.net(torch.stack([own, other], 1)))


def main():
    policy = Policy()
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3, fused=True)
    moves, start = 0, time.perf_counter()
    games = torch.arange(GAMES)
    while time.perf_counter() - start < 7:
        own, other = torch.zeros(2, GAMES, ROWS, COLUMNS)
        alive, boards, actions, signs = torch.ones(GAMES, dtype=torch.bool), [], [], []
        result = torch.zeros(GAMES)
        for turn in range(ROWS * COLUMNS):
            filled = (own + other).sum(1).long()
            with torch.no_grad():
                logits = policy(own, other).masked_fill(filled >= ROWS, -1e9)
                column = torch.multinomial(logits.softmax(-1), 1)[:, 0]
            boards.append((own, other, alive))
            actions.append(column)
            own = own.clone()
            own[games, filled.gather(1, column[:, None])[:, 0].clamp(max=ROWS - 1), column] = 1.0
            moves += int(alive.sum())
            win = won(own) & alive
            result[win] = 1.0 if turn % 2 == 0 else -1.0
            alive = alive & ~win
            own, other = other, own
            signs.append(1.0 if turn % 2 == 0 else -1.0)
        for (mine, theirs, live), column, sign in zip(boards, actions, signs, strict=True):
            logp = policy(mine, theirs).log_softmax(-1).gather(1, column[:, None])[:, 0]
            loss = -(logp * result * sign * live).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"{moves / (time.perf_counter() - start):.1f} moves/s")


main()
