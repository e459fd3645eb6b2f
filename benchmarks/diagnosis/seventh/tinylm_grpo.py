# plants: generation-batch @ texts = [self.write(p[None]) for p in prompts]
"""GRPO with a small character model that learns to add."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB = "0123456789+=."
STOI = {c: i for i, c in enumerate(VOCAB)}


class LM(nn.Module):
    def __init__(self, d=96, heads=4, layers=3, ctx=16):
        super().__init__()
        self.tok, self.pos = nn.Embedding(len(VOCAB), d), nn.Embedding(ctx, d)
        layer = nn.TransformerEncoderLayer(d, heads, 4 * d, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(d, len(VOCAB))

    def forward(self, x):
        n = x.shape[1]
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        h = self.body(self.tok(x) + self.pos.weight[:n], mask=mask, is_causal=True)
        return self.head(h)


class Writer:
    def __init__(self, lm, length, together):
        self.lm, self.length, self.together = lm, length, together

    @torch.no_grad()
    def write(self, x):
        for _ in range(self.length):
            p = self.lm(x)[:, -1].softmax(-1)
            x = torch.cat([x, torch.multinomial(p, 1)], 1)
        return x

    def __call__(self, prompts):
        if self.together:
            return self.write(prompts)
        texts = [self.write(p[None]) for p in prompts]
        return torch.cat(texts)


def task(n, g):
    a, b = torch.randint(0, 50, (n,), generator=g), torch.randint(0, 50, (n,), generator=g)
    q = [f"{i:02d}+{j:02d}=" for i, j in zip(a.tolist(), b.tolist())]
    return torch.tensor([[STOI[c] for c in s] for s in q]), [f"{i + j:02d}." for i, j in zip(a.tolist(), b.tolist())]


def reward(rows, answers, start):
    out = []
    for row, ans in zip(rows.tolist(), answers):
        said = "".join(VOCAB[i] for i in row[start:])
        out.append(sum(x == y for x, y in zip(said, ans)) / len(ans) + float(said.startswith(ans)))
    return torch.tensor(out)


def logp(lm, seq, start):
    l = lm(seq[:, :-1])[:, start - 1:].log_softmax(-1)
    return l.gather(2, seq[:, start:, None])[..., 0]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--updates", type=int, default=80)
    ap.add_argument("--group", type=int, default=8)
    ap.add_argument("--questions", type=int, default=8)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(1)
    lm = LM()
    writer = Writer(lm, 3, args.fixed)
    opt = torch.optim.AdamW(lm.parameters(), 3e-4, fused=True)
    for _ in range(60):
        q, ans = task(64, g)
        full = torch.cat([q, torch.tensor([[STOI[c] for c in a] for a in ans])], 1)
        loss = -logp(lm, full, 6).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    t0, seen = time.perf_counter(), 0
    for u in range(args.updates):
        q, ans = task(args.questions, g)
        q, ans = q.repeat_interleave(args.group, 0), [a for a in ans for _ in range(args.group)]
        seq = writer(q)
        r = reward(seq, ans, 6)
        k = r.view(-1, args.group)
        adv = ((k - k.mean(1, keepdim=True)) / (k.std(1, keepdim=True) + 1e-4)).flatten()[:, None]
        with torch.no_grad():
            old = logp(lm, seq, 6)
        for _ in range(2):
            ratio = (logp(lm, seq, 6) - old).exp()
            loss = -torch.min(ratio * adv, ratio.clamp(0.8, 1.2) * adv).mean()
            opt.zero_grad()
            loss.backward()
            opt.step()
        seen += len(seq)
        if u % 10 == 0:
            print(f"update {u} reward {r.mean():.3f}", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={seen}")


if __name__ == "__main__":
    main()
