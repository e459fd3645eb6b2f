# plants: generation-batch @ group.append(sample(
"""GRPO for a small character model that learns to close brackets, one completion at a time."""

import sys
import time

import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
BATCHED = "--fixed" in sys.argv
VOCAB, WIDTH, LENGTH, GROUP = 6, 96, 24, 16


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.mlp = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, 4, WIDTH // 4).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, WIDTH))
        return x + self.mlp(self.norm2(x))


class Writer(nn.Module):
    def __init__(self):
        super().__init__()
        self.token, self.place = nn.Embedding(VOCAB, WIDTH), nn.Embedding(64, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(3)))
        self.head = nn.Linear(WIDTH, VOCAB)

    def forward(self, ids):
        x = self.token(ids) + self.place(torch.arange(ids.shape[1]))
        return self.head(self.blocks(x))


@torch.no_grad()
def sample(model, prompts):
    ids = prompts
    for _ in range(LENGTH):
        p = model(ids)[:, -1].softmax(-1)
        ids = torch.cat([ids, torch.multinomial(p, 1)], 1)
    return ids


def score(row):
    """Balanced brackets of two kinds; 0 ends the text."""
    stack, good = [], 0.0
    for token in row.tolist():
        if token == 0:
            break
        if token in (1, 2):
            stack.append(token)
        elif token in (3, 4):
            if not stack or stack.pop() != token - 2:
                return good - 0.5
            good += 0.1
    return good - 0.05 * len(stack)


def main():
    model = Writer()
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, fused=True)
    completions, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        prompt = torch.randint(1, 3, (1, 8))
        if BATCHED:
            ids = sample(model, prompt.repeat(GROUP, 1))
        else:
            group = []
            for _ in range(GROUP):
                group.append(sample(model, prompt))
            ids = torch.cat(group)
        rewards = torch.tensor([score(row) for row in ids])
        advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-4)
        logp = model(ids[:, :-1])[:, 7:].log_softmax(-1)
        chosen = logp.gather(2, ids[:, 8:, None])[..., 0].sum(1)
        loss = -(advantage * chosen).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        completions += GROUP
    print(f"{completions / (time.perf_counter() - start):.1f} completions/s")


main()
