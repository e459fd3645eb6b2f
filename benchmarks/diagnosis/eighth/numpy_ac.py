# plants: buffer-cost-grows @ B[k] = np.append(B[k], np.atleast_2d(v), axis=0)
import sys
import time

import numpy as np

# off-policy actor critic, no framework. S states, A actions, B buffer, W weights
r = np.random.default_rng(2)
D, A, H = 24, 3, 48
N = 9000
f = "--fixed" in sys.argv
W1 = r.normal(0, 0.2, (D, H))
W2 = r.normal(0, 0.2, (H, A))
V2 = np.zeros(H)
M = r.normal(0, 0.3, (D, D)) / np.sqrt(D)
C = r.normal(0, 0.5, (A, D))

if f:
    B = {"s": np.zeros((N, D)), "a": np.zeros((N, 1)), "r": np.zeros((N, 1)), "n": np.zeros((N, D))}
else:
    B = {"s": np.zeros((0, D)), "a": np.zeros((0, 1)), "r": np.zeros((0, 1)), "n": np.zeros((0, D))}


def g(s):
    h = np.tanh(s @ W1)
    z = h @ W2
    e = np.exp(z - z.max(-1, keepdims=True))
    return h, e / e.sum(-1, keepdims=True)


def st(s, a):
    n = np.tanh(s @ M + C[a] + 0.1 * r.normal(size=D))
    return n, -np.square(n[:4]).sum()


def put(i, **x):
    for k, v in x.items():
        if f:
            B[k][i] = v
        else:
            B[k] = np.append(B[k], np.atleast_2d(v), axis=0)


def up(i):
    global W1, W2, V2
    j = r.integers(0, i, 32)
    s, a, q, n = (B[k][j] for k in "sarn")
    h, p = g(s)
    y = q[:, 0] + 0.95 * g(n)[0] @ V2
    d = y - h @ V2
    V2 = V2 + 0.01 * h.T @ d / 32
    o = -p
    o[np.arange(32), a[:, 0].astype(int)] += 1
    o *= d[:, None]
    b = (o @ W2.T) * (1 - h**2)
    W2 = W2 + 0.01 * h.T @ o / 32
    W1 = W1 + 0.01 * s.T @ b / 32


t = time.process_time()
s, tot = r.normal(size=D), 0.0
for i in range(N):
    _, p = g(s)
    a = int((p.cumsum() < r.random()).sum())
    a = min(a, A - 1)
    n, w = st(s, a)
    put(i, s=s, a=a, r=w, n=n)
    s = n if (i + 1) % 200 else r.normal(size=D)
    tot += w
    if i > 200 and i % 2 == 0:
        up(i)
    if i % 1000 == 999:
        print(i + 1, round(tot / 1000, 3))
        tot = 0.0
print(f"cpu {time.process_time() - t:.2f} work {N}")
