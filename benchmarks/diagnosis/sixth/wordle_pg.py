# plants: generation-batch @ outs = [generate(model, 1, gen) for _ in range(GROUP)]
"""Group-relative policy gradient for a tiny hand-written transformer that should write rising digits."""

import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
FIXED = "--fixed" in sys.argv
VOCAB, LENGTH, D, GROUP = 12, 16, 48, 24


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(D), nn.LayerNorm(D)
        self.qkv, self.out = nn.Linear(D, 3 * D), nn.Linear(D, D)
        self.mlp = nn.Sequential(nn.Linear(D, 4 * D), nn.GELU(), nn.Linear(4 * D, D))

    def forward(self, x, cache=None):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, 4, D // 4).permute(2, 0, 3, 1, 4)
        if cache is not None:
            if cache:
                k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
            cache[:] = [k, v]
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, D))
        return x + self.mlp(self.n2(x))


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, D), nn.Embedding(LENGTH + 1, D)
        self.blocks = nn.ModuleList([Block(), Block()])
        self.head = nn.Linear(D, VOCAB)

    def forward(self, ids, start=0, caches=None):
        x = self.tok(ids) + self.pos.weight[start : start + ids.shape[1]]
        for i, block in enumerate(self.blocks):
            x = block(x, None if caches is None else caches[i])
        return self.head(x)


@torch.no_grad()
def generate(model, n, gen):
    ids, caches = torch.zeros(n, 1, dtype=torch.long), [[], []]
    for t in range(LENGTH):
        p = torch.softmax(model(ids[:, -1:], t, caches)[:, -1], -1)
        ids = torch.cat([ids, torch.multinomial(p, 1, generator=gen)], 1)
    return ids


def reward(ids):
    return (ids[:, 2:] > ids[:, 1:-1]).float().mean(1)


def main(iterations=50):
    torch.manual_seed(0)
    gen, model = torch.Generator().manual_seed(1), Writer()
    opt = torch.optim.AdamW(model.parameters(), 2e-3, fused=True)
    start = time.perf_counter()
    for _ in range(iterations):
        if FIXED:
            ids = generate(model, GROUP, gen)
        else:
            outs = [generate(model, 1, gen) for _ in range(GROUP)]
            ids = torch.cat(outs)
        r = reward(ids)
        adv = (r - r.mean()) / (r.std() + 1e-6)
        with torch.no_grad():
            old = F.log_softmax(model(ids[:, :-1]), -1).gather(2, ids[:, 1:, None])[..., 0]
        for _ in range(4):
            lp = F.log_softmax(model(ids[:, :-1]), -1).gather(2, ids[:, 1:, None])[..., 0]
            ratio = (lp - old).exp()
            loss = -torch.min(ratio * adv[:, None], ratio.clamp(0.8, 1.2) * adv[:, None]).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
    took = time.perf_counter() - start
    print(f"steps {iterations * GROUP * LENGTH} loop_s {took:.3f} return {r.mean():.3f}")


main()
