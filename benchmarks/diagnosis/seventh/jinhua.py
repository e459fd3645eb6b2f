# plants: nothing
"""Jinhua celue: zhongqun zai liang ge jincheng li pinggu."""
import argparse
import multiprocessing as mp
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import numpy as np

YIN, GUAN, DONG = 32, 14, 3
CANSHU = GUAN * YIN + YIN + YIN * DONG + DONG


def celue(w, g):
    i = GUAN * YIN
    h = np.tanh(g @ w[:i].reshape(GUAN, YIN) + w[i:i + YIN])
    j = i + YIN + YIN * DONG
    return np.tanh(h @ w[i + YIN:j].reshape(YIN, DONG) + w[j:])


def zou(w, zhongzi, changdu=250):
    """San guanjie de shayu zai pingmian shang youyong."""
    g = np.random.default_rng(zhongzi)
    q, dq, x, v, he = g.normal(0, 0.1, 4), np.zeros(4), 0.0, 0.0, 0.0
    for t in range(changdu):
        guan = np.concatenate([q, dq, [v, np.sin(t * 0.1), np.cos(t * 0.1), np.sin(t * 0.2), np.cos(t * 0.2), 1.0]])
        u = celue(w, guan)
        li = np.concatenate([[0.0], u]) - np.concatenate([u, [0.0]])
        dq = dq + 0.05 * (4 * li - 2.0 * q - 0.8 * dq)
        q = q + 0.05 * dq
        tui = -np.sum(np.diff(np.sin(q)) * dq[1:]) * 0.2
        v += 0.05 * (tui - 0.3 * v)
        x += 0.05 * v
        he += v - 0.01 * float(u @ u)
    return he


def fenshu(renwu):
    w, zhongzi = renwu
    return zou(w, zhongzi)


def paiming(x):
    r = np.empty(len(x))
    r[np.argsort(x)] = np.linspace(-0.5, 0.5, len(x))
    return r


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--dai", type=int, default=55)
    p.add_argument("--zhongqun", type=int, default=96)
    cs = p.parse_args()
    g = np.random.default_rng(0)
    w, m = g.normal(0, 0.1, CANSHU), np.zeros(CANSHU)
    with mp.get_context("fork").Pool(2) as chi:
        t0 = time.perf_counter()
        for dai in range(cs.dai):
            e = g.normal(size=(cs.zhongqun // 2, CANSHU))
            e = np.concatenate([e, -e])
            f = np.array(chi.map(fenshu, [(w + 0.1 * x, dai) for x in e], chunksize=12))
            m = 0.9 * m + paiming(f) @ e / len(e)
            w = w + 0.2 * m - 0.001 * w
            if dai % 6 == 0:
                print(f"dai {dai} pingjun {f.mean():.2f} zuihao {f.max():.2f}", flush=True)
        print(f"loop_s={time.perf_counter() - t0:.2f} steps={cs.dai * cs.zhongqun * 250}")


if __name__ == "__main__":
    main()
