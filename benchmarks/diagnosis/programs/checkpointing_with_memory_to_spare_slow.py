"""A sequence model learns from logged episodes; its blocks are checkpointed, as for a large one."""

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)


class Block(nn.Module):
    def __init__(self, width) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.wide = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        y = self.norms[0](x)
        x = x + self.attention(y, y, y, need_weights=False)[0]
        return x + self.wide(self.norms[1](x))


class Model(nn.Module):
    def __init__(self, width=128, depth=4, frugal=True) -> None:
        super().__init__()
        self.frugal = frugal
        self.first = nn.Linear(12, width)
        self.blocks = nn.ModuleList(Block(width) for _ in range(depth))
        self.head = nn.Linear(width, 6)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.frugal else block(x)
        return self.head(x)


def main(frugal=True, updates=120) -> None:
    torch.manual_seed(0)
    seen, did = torch.randn(512, 32, 12), torch.randint(6, (512, 32))
    model = Model(frugal=frugal)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, fused=True)
    for _ in range(updates):
        rows = torch.randint(512, (32,))
        loss = nn.functional.cross_entropy(model(seen[rows]).flatten(0, 1), did[rows].flatten())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()
