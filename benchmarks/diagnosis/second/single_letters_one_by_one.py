"""Forty agents in one array environment, single-letter names; one forward pass per agent."""

# plants: unbatched-policy @ a[i] = int(torch.argmax(q(torch.from_numpy(o[i]))
import sys

import numpy as np
import torch

F = "--fixed" in sys.argv
torch.set_num_threads(1)
N = 40


class E:
    def r(s):
        s.x = np.random.uniform(-1, 1, (N, 6)).astype(np.float32)
        s.t = 0
        return s.x.copy()

    def s(s, a):
        s.x[:, 0] += 0.05 * (a - 1)
        s.x[:, 1:] *= 0.99
        s.t += 1
        return s.x.copy(), 1 - np.abs(s.x[:, 0]), s.t >= 100


q = torch.nn.Sequential(torch.nn.Linear(6, 48), torch.nn.ReLU(), torch.nn.Linear(48, 3))
p = torch.optim.SGD(q.parameters(), 1e-2)
e = E()
o = e.r()
for t in range(900):
    a = np.zeros(N, np.int64)
    with torch.no_grad():
        if F:
            a[:] = q(torch.from_numpy(o)).argmax(1).numpy()
        else:
            for i in range(N):
                a[i] = int(torch.argmax(q(torch.from_numpy(o[i]))))
    u = np.random.rand(N) < 0.1
    a[u] = np.random.randint(0, 3, u.sum())
    n, r, d = e.s(a)
    with torch.no_grad():
        y = torch.from_numpy(r) + 0.9 * q(torch.from_numpy(n)).max(1).values
    v = q(torch.from_numpy(o))[torch.arange(N), torch.from_numpy(a)]
    p.zero_grad()
    (v - y).pow(2).mean().backward()
    p.step()
    o = e.r() if d else n
