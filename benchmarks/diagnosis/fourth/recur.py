# plants: stepwise-recurrence @ y, h = s.r(z[:, t : t + 1], h)
# recurrent Q-learning on a noisy memory task; sequence replay (stepwise-recurrence)
import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
f = "--fixed" in sys.argv
g = np.random.default_rng(0)
T, B, H, A, D = 40, 16, 64, 3, 6


class N(nn.Module):
    def __init__(s):
        super().__init__()
        s.e = nn.Linear(D, H)
        s.r = nn.GRU(H, H, batch_first=True)
        s.q = nn.Linear(H, A)

    def forward(s, x, h=None):
        z = torch.relu(s.e(x))
        if f:
            y, h = s.r(z, h)
        else:
            o = []
            for t in range(z.shape[1]):
                y, h = s.r(z[:, t : t + 1], h)
                o.append(y)
            y = torch.cat(o, 1)
        return s.q(y), h


def o(k, t):
    v = g.normal(0, 0.3, D).astype(np.float32)
    if t < 2:
        v[k] += 2.0
    v[-1] = t / T
    return v


n, m = N(), N()
m.load_state_dict(n.state_dict())
p = torch.optim.Adam(n.parameters(), 1e-3)
X = np.zeros((500, T + 1, D), np.float32)
U = np.zeros((500, T), np.int64)
R = np.zeros((500, T), np.float32)
c = e = w = 0
z0 = time.perf_counter()
while time.perf_counter() - z0 < 8:
    k, h = int(g.integers(3)), None
    i = e % 500
    x = o(k, 0)
    for t in range(T):
        X[i, t] = x
        with torch.no_grad():
            q, h = n(torch.from_numpy(x)[None, None], h)
        a = int(g.integers(A)) if g.random() < 0.1 else int(q.argmax())
        U[i, t], R[i, t] = a, float(a == k)
        x = o(k, t + 1)
        c += 1
        if e >= 8 and t % 8 == 7:
            b = g.integers(0, min(e, 500), B)
            xb = torch.from_numpy(X[b])
            q, _ = n(xb[:, :-1])
            q = q.gather(2, torch.from_numpy(U[b])[..., None])[..., 0]
            with torch.no_grad():
                y = torch.from_numpy(R[b]) + 0.95 * m(xb[:, 1:])[0].max(2).values
            l = (q - y).pow(2).mean()
            p.zero_grad()
            l.backward()
            p.step()
            w += 1
            if w % 100 == 0:
                m.load_state_dict(n.state_dict())
    X[i, T] = x
    e += 1
print(c, e, w)
print(f"{c / (time.perf_counter() - z0):.1f} steps/s")
