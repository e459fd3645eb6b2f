# plants: nothing
# Healthy: tabular Q-learning, 4096 walkers at once on a table of two million entries.
import time
import numpy as np

r = np.random.default_rng(0)
L, N, A = 700, 4096, 4
Q = np.zeros((L * L, A), np.float32)
dx, dy = np.array([0, 1, 0, -1]), np.array([1, 0, -1, 0])
x, y = r.integers(0, L, N), r.integers(0, L, N)
n, t = 0, time.perf_counter()
while time.perf_counter() - t < 8:
    s = x * L + y
    a = np.where(r.random(N) < 0.1, r.integers(0, A, N), Q[s].argmax(1))
    x2, y2 = np.clip(x + dx[a], 0, L - 1), np.clip(y + dy[a], 0, L - 1)
    s2 = x2 * L + y2
    g = (x2 == L - 1) & (y2 == L - 1)
    w = g.astype(np.float32) - 0.001 * ((x2 * 31 + y2 * 17) % 11 == 0)
    Q[s, a] += 0.1 * (w + 0.99 * Q[s2].max(1) * ~g - Q[s, a])
    e = g | (r.random(N) < 0.005)
    x, y = np.where(e, r.integers(0, L, N), x2), np.where(e, r.integers(0, L, N), y2)
    n += N
print(f"{n / (time.perf_counter() - t):.1f} steps/s")
