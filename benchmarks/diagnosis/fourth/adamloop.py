# plants: unfused-optimizer @ optimiser = torch.optim.AdamW(
# Ensemble of Q heads (bootstrapped DQN) on a chain of levers. (unfused-optimizer)
import sys
import time
import numpy as np
import torch
import torch.nn as nn

schnell = "--fixed" in sys.argv
torch.set_num_threads(1)
torch.manual_seed(0)
rng = np.random.default_rng(0)
LENGTH, HEADS = 30, 12
heads = nn.ModuleList(
    [
        nn.Sequential(
            nn.Linear(LENGTH, 24), nn.ReLU(), nn.Linear(24, 24), nn.ReLU(), nn.Linear(24, 2)
        )
        for _ in range(HEADS)
    ]
)
optimiser = torch.optim.AdamW(
    heads.parameters(), lr=1e-3, **({"fused": True} if schnell else {"foreach": False})
)
states = np.zeros((10000, LENGTH), np.float32)
nexts = np.zeros((10000, LENGTH), np.float32)
acts, rews, ends = (
    np.zeros(10000, np.int64),
    np.zeros(10000, np.float32),
    np.zeros(10000, np.float32),
)


def encode(pos):
    v = np.zeros(LENGTH, np.float32)
    v[: pos + 1] = 1
    return v


pos, age, count = 1, 0, 0
member = int(rng.integers(HEADS))
began = time.perf_counter()
while time.perf_counter() - began < 8:
    s = encode(pos)
    with torch.inference_mode():
        action = int(heads[member](torch.from_numpy(s)).argmax())
    new = min(pos + 1, LENGTH - 1) if action else max(pos - 1, 0)
    reward = 1.0 if new == LENGTH - 1 else (0.001 if new == 0 else 0.0)
    age += 1
    over = age >= LENGTH + 9
    i = count % 10000
    states[i], nexts[i], acts[i], rews[i], ends[i] = s, encode(new), action, reward, over
    pos = new
    count += 1
    if over:
        pos, age, member = 1, 0, int(rng.integers(HEADS))
    if count > 300 and count % 2 == 0:
        pick = rng.integers(0, min(count, 10000), 32)
        a, b = torch.from_numpy(states[pick]), torch.from_numpy(nexts[pick])
        u, r, d = (
            torch.from_numpy(acts[pick]),
            torch.from_numpy(rews[pick]),
            torch.from_numpy(ends[pick]),
        )
        loss = 0
        for net in heads:
            with torch.no_grad():
                target = r + 0.99 * (1 - d) * net(b).max(1).values
            loss = loss + (net(a).gather(1, u[:, None])[:, 0] - target).square().mean()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
print(f"{count / (time.perf_counter() - began):.1f} steps/s")
