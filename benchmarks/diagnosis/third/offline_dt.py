"""A small decision transformer on logged data. The data are tensors in memory; a batch is one indexing."""

# plants: nothing
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

CONTEXT, OBS, ACT = 20, 11, 3


def make_data(n=2000, length=120, seed=0):
    """All trajectories at once: a leaky linear system under a controller of random quality."""
    g = torch.Generator().manual_seed(seed)
    A = 0.95 * torch.linalg.qr(torch.randn(OBS, OBS, generator=g))[0]
    B = 0.3 * torch.randn(ACT, OBS, generator=g)
    K = 0.5 * torch.randn(OBS, ACT, generator=g)
    skill = torch.rand(n, 1, generator=g)
    s = torch.randn(n, OBS, generator=g)
    obs, act, rew = [], [], []
    for _ in range(length):
        a = torch.tanh(skill * (s @ K) + 0.3 * torch.randn(n, ACT, generator=g))
        obs.append(s)
        act.append(a)
        s = s @ A + a @ B
        rew.append(-s.pow(2).mean(1))
    obs, act, rew = torch.stack(obs, 1), torch.stack(act, 1), torch.stack(rew, 1)
    rtg = rew.flip(1).cumsum(1).flip(1) / 10
    return obs, act, rtg.unsqueeze(-1)


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (
            self.qkv(self.n1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        )
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.n2(x))


class DecisionTransformer(nn.Module):
    def __init__(self, dim=192, depth=3, heads=6):
        super().__init__()
        self.r, self.s, self.a = nn.Linear(1, dim), nn.Linear(OBS, dim), nn.Linear(ACT, dim)
        self.time = nn.Embedding(128, dim)
        self.blocks = nn.Sequential(*[Block(dim, heads) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, ACT), nn.Tanh())

    def forward(self, rtg, obs, act, t):
        e = self.time(t)
        x = torch.stack([self.r(rtg) + e, self.s(obs) + e, self.a(act) + e], 2).flatten(1, 2)
        return self.head(self.blocks(x)[:, 1::3])


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=22, help="gradient steps")
    ap.add_argument(
        "--fixed", action="store_true", help="no effect, there is nothing to switch off"
    )
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)  # the machine is shared with other jobs
    obs, act, rtg = make_data()
    n, length = obs.shape[:2]
    model = DecisionTransformer()
    opt = torch.optim.AdamW(model.parameters(), lr=6e-4, weight_decay=1e-2, fused=True)
    span = torch.arange(CONTEXT)
    batch = 64
    start = time.perf_counter()
    for step in range(1, args.steps + 1):
        i = torch.randint(n, (batch, 1))
        t = torch.randint(length - CONTEXT, (batch, 1)) + span
        pred = model(rtg[i, t], obs[i, t], act[i, t], t)
        loss = F.mse_loss(pred, act[i, t])
        opt.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        opt.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f}")
    print(f"loop_s {time.perf_counter() - start:.3f} steps {args.steps}")


if __name__ == "__main__":
    main()
