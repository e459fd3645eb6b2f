"""A decision transformer in bfloat16 with fused attention and large batches: healthy.

python transformer_policy.py [--seconds 10] [--batch 256] [--context 256] [--truth FILE]
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from torch.nn import functional
from truth import Loop

OBS, ACT = 64, 8


class Layer(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, c = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.mlp(self.ln2(x))


class TransformerPolicy(nn.Module):
    def __init__(self, width: int, layers: int, context: int) -> None:
        super().__init__()
        self.embed = nn.Linear(OBS + 1, width)
        self.where = nn.Parameter(torch.zeros(context, width))
        self.layers = nn.Sequential(*(Layer(width, max(width // 64, 1)) for _ in range(layers)))
        self.head = nn.Linear(width, ACT)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.head(self.layers(self.embed(tokens) + self.where))


class Trajectories:
    """Recorded episodes on the device; a sample is a batch of stretches of them."""

    def __init__(self, steps: int, device: str) -> None:
        self.tokens = torch.randn(steps, OBS + 1, device=device, dtype=torch.bfloat16)
        self.actions = torch.randn(steps, ACT, device=device, dtype=torch.bfloat16)

    def sample(self, batch: int, context: int) -> tuple[torch.Tensor, torch.Tensor]:
        device = self.tokens.device
        start = torch.randint(0, len(self.tokens) - context, (batch, 1), device=device)
        rows = start + torch.arange(context, device=device)
        return self.tokens[rows], self.actions[rows]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--context", type=int, default=256)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--steps", type=int, default=1_000_000)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    policy = TransformerPolicy(args.width, args.layers, args.context)
    policy = policy.to(args.device, torch.bfloat16)
    cuda = args.device.startswith("cuda")
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4, fused=cuda)
    data = Trajectories(args.steps, args.device)
    for _ in range(2):
        policy(data.sample(args.batch, args.context)[0]).float().mean().backward()
        optimizer.zero_grad()
    loop = Loop(args)
    for _ in loop:
        with loop.span("buffer.sample"):
            tokens, actions = data.sample(args.batch, args.context)
        with loop.span("learn.forward"):
            predicted = policy(tokens)
        loss = functional.mse_loss(predicted.float(), actions.float())
        with loop.span("learn.optimizer"):
            optimizer.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            optimizer.step()
    loop.finish(args.batch)


if __name__ == "__main__":
    main()
