# plants: checkpointing-with-memory-to-spare @ save_activations: bool = True
"""Offline training of a decision transformer on logged Pendulum-like data."""
import argparse
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint


@dataclass
class Config:
    d: int = 96
    heads: int = 4
    layers: int = 4
    context: int = 20
    batch: int = 48
    save_activations: bool = True


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.c = c
        self.n1, self.n2 = nn.LayerNorm(c.d), nn.LayerNorm(c.d)
        self.qkv, self.o = nn.Linear(c.d, 3 * c.d), nn.Linear(c.d, c.d)
        self.mlp = nn.Sequential(nn.Linear(c.d, 4 * c.d), nn.GELU(), nn.Linear(4 * c.d, c.d))

    def forward(self, x):
        B, T, D = x.shape
        q, k, v = (z.view(B, T, self.c.heads, -1).transpose(1, 2) for z in self.qkv(self.n1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(B, T, D))
        return x + self.mlp(self.n2(x))


class DT(nn.Module):
    def __init__(self, c, ds, da):
        super().__init__()
        self.c = c
        self.er, self.es, self.ea = nn.Linear(1, c.d), nn.Linear(ds, c.d), nn.Linear(da, c.d)
        self.pos = nn.Embedding(256, c.d)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm, self.head = nn.LayerNorm(c.d), nn.Linear(c.d, da)

    def forward(self, g, s, a, t):
        e = self.pos(t)
        x = torch.stack([self.er(g) + e, self.es(s) + e, self.ea(a) + e], 2).flatten(1, 2)
        for b in self.blocks:
            if self.c.save_activations and self.training:
                x = checkpoint(b, x, use_reentrant=False)
            else:
                x = b(x)
        return torch.tanh(self.head(self.norm(x[:, 1::3])))


def logged(n, rng):
    """Episodes of a noisy controller on a damped double integrator."""
    S, A, R = np.zeros((n, 100, 4), np.float32), np.zeros((n, 100, 2), np.float32), np.zeros((n, 100), np.float32)
    s = rng.normal(0, 1, (n, 4))
    gain = rng.uniform(0.2, 1.5, (n, 1))
    for t in range(100):
        a = np.clip(-gain * (s[:, :2] + s[:, 2:]) + 0.3 * rng.normal(size=(n, 2)), -1, 1)
        S[:, t], A[:, t] = s, a
        R[:, t] = -(s[:, :2] ** 2).sum(1) - 0.1 * (a ** 2).sum(1)
        s = np.concatenate([s[:, :2] + 0.1 * s[:, 2:], 0.98 * s[:, 2:] + 0.1 * a], 1)
    return S, A, R[:, ::-1].cumsum(1)[:, ::-1].copy() / 100


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--updates", type=int, default=90)
    args = ap.parse_args()
    cfg = Config()
    if args.fixed:
        cfg.save_activations = False
    rng = np.random.default_rng(0)
    torch.manual_seed(0)
    S, A, G = logged(600, rng)
    net = DT(cfg, 4, 2).train()
    opt = torch.optim.AdamW(net.parameters(), 3e-4, weight_decay=1e-3, fused=True)
    t0, k, losses = time.perf_counter(), np.arange(cfg.context), []
    for step in range(args.updates):
        i, j = rng.integers(0, len(S), cfg.batch)[:, None], rng.integers(0, 100 - cfg.context, cfg.batch)[:, None] + k
        s, a, g, t = (torch.from_numpy(x) for x in (S[i, j], A[i, j], G[i, j][..., None], j))
        loss = F.mse_loss(net(g, s, a, t), a)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 0.5)
        opt.step()
        losses.append(loss.detach())
    print(f"loss {losses[0].item():.4f} -> {losses[-1].item():.4f}")
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.updates}")


if __name__ == "__main__":
    main()
