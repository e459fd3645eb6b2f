# plants: gc-every-step @ gc.collect()
# plants: naive-priority-sampling @ for w in P[:n].tolist():
# prioritised replay by walking the weights (larger), and gc.collect every few steps (smaller)
import gc
import sys
import time
import numpy as np
import torch
from torch import nn

F1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
F2 = "--fixed" in sys.argv or "--fixed2" in sys.argv
torch.set_num_threads(1)
z = np.random.default_rng(0)
M = 3000
P = np.zeros(M)
S, S2 = np.zeros((M, 5), np.float32), np.zeros((M, 5), np.float32)
U, R = np.zeros(M, np.int64), np.zeros(M, np.float32)
q = nn.Sequential(nn.Linear(5, 48), nn.ReLU(), nn.Linear(48, 2))
o = torch.optim.Adam(q.parameters(), 1e-3, fused=True)


def h(x, u):
    x = (0.9 * x + 0.1 * z.normal(size=5)).astype(np.float32)
    x[0] += 0.2 * (u - 0.5)
    return x, -abs(float(x[0]))


def v(n, b):
    if F1:
        c = np.cumsum(P[:n])
        return np.minimum(np.searchsorted(c, z.random(b) * c[-1]), n - 1)
    t = sum(P[:n].tolist())
    out = []
    for _ in range(b):
        y, i = z.random() * t, 0
        for w in P[:n].tolist():
            y -= w
            if y <= 0:
                break
            i += 1
        out.append(min(i, n - 1))
    return np.array(out)


x = z.normal(size=5).astype(np.float32)
k = 0
t0 = time.perf_counter()
while time.perf_counter() - t0 < 9:
    with torch.no_grad():
        u = int(q(torch.from_numpy(x)).argmax()) if z.random() > 0.1 else int(z.integers(2))
    y, r = h(x, u)
    i = k % M
    S[i], U[i], R[i], S2[i], P[i] = x, u, r, y, P.max() or 1.0
    x = y
    k += 1
    if not F2 and k % 64 == 0:
        gc.collect()
    if k >= 64 and k % 2 == 0:
        j = v(min(k, M), 64)
        with torch.no_grad():
            g = torch.from_numpy(R[j]) + 0.97 * q(torch.from_numpy(S2[j])).max(1).values
        d = q(torch.from_numpy(S[j])).gather(1, torch.from_numpy(U[j])[:, None])[:, 0] - g
        o.zero_grad()
        d.square().mean().backward()
        o.step()
        P[j] = d.detach().abs().numpy() + 1e-3
print(f"{k / (time.perf_counter() - t0):.1f} steps/s")
