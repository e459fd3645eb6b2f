# plants: checkpointing-with-memory-to-spare @ x = checkpoint(
"""Decision transformer on logged pendulum swings, with activation checkpointing copied from
a large model.
"""

import sys
import time

import numpy as np
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
CONTEXT = 20


def logged(episodes=200, length=100):
    """Swings of a damped pendulum under a noisy energy controller."""
    rng = np.random.default_rng(0)
    angle, speed = rng.uniform(-3, 3, episodes), np.zeros(episodes)
    rows = []
    for _ in range(length):
        torque = np.clip(-np.sign(speed * np.cos(angle)) + rng.normal(0, 0.5, episodes), -2, 2)
        rows.append(
            np.stack([np.cos(angle), np.sin(angle), speed, torque, -(angle**2) - 0.1 * speed**2], 1)
        )
        speed = np.clip(speed + 0.05 * (15 * np.sin(angle) + 3 * torque), -8, 8)
        angle = (angle + 0.05 * speed + np.pi) % (2 * np.pi) - np.pi
    data = np.stack(rows, 1).astype(np.float32)
    togo = data[:, ::-1, 4].cumsum(1)[:, ::-1] / 100
    return torch.from_numpy(np.concatenate([data[..., :4], togo[..., None]], -1).copy())


class Layer(nn.Module):
    def __init__(self, width=96, heads=4):
        super().__init__()
        self.a, self.b = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x, mask):
        y = self.a(x)
        x = x + self.attention(y, y, y, attn_mask=mask, need_weights=False)[0]
        return x + self.mlp(self.b(x))


class DecisionTransformer(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.embed, self.place = nn.Linear(5, width), nn.Parameter(torch.zeros(CONTEXT, width))
        self.layers = nn.ModuleList(Layer(width) for _ in range(4))
        self.head = nn.Linear(width, 1)
        self.register_buffer("mask", torch.triu(torch.ones(CONTEXT, CONTEXT, dtype=torch.bool), 1))

    def forward(self, tokens):
        x = self.embed(tokens) + self.place
        for layer in self.layers:
            if FIXED:
                x = layer(x, self.mask)
            else:
                x = checkpoint(layer, x, self.mask, use_reentrant=False)
        return self.head(x)[..., 0]


def main():
    data, model = logged(), DecisionTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4, weight_decay=0.01, fused=True)
    updates, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        rows = torch.randint(0, len(data), (32,))
        first = torch.randint(0, 100 - CONTEXT, (32,))
        tokens = data[rows[:, None], first[:, None] + torch.arange(CONTEXT)]
        target = tokens[..., 3].clone()
        tokens = tokens.clone()
        tokens[:, 1:, 3], tokens[:, 0, 3] = tokens[:, :-1, 3].clone(), 0.0
        loss = nn.functional.mse_loss(model(tokens), target)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        updates += 1
    print(f"{updates / (time.perf_counter() - start):.1f} updates/s")


main()
