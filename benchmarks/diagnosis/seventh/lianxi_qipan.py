# plants: one-leaf-search @ for shu in senlin:
"""Wuziqi (wu zi lian zhu, 7x7, si lian) de ziwo duiyi xunlian."""
import argparse
import math
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

BIAN, LIAN = 7, 4
ZONG = BIAN * BIAN


def shengli(pan, dian):
    y, x = divmod(dian, BIAN)
    zi = pan[y, x]
    for dy, dx in ((0, 1), (1, 0), (1, 1), (1, -1)):
        shu = 1
        for f in (1, -1):
            a, b = y + f * dy, x + f * dx
            while 0 <= a < BIAN and 0 <= b < BIAN and pan[a, b] == zi:
                shu, a, b = shu + 1, a + f * dy, b + f * dx
        if shu >= LIAN:
            return True
    return False


class Wangluo(nn.Module):
    def __init__(self, kuan=48):
        super().__init__()
        self.juan = nn.Sequential(nn.Conv2d(2, kuan, 3, padding=1), nn.ReLU(), nn.Conv2d(kuan, kuan, 3, padding=1),
                                  nn.ReLU(), nn.Conv2d(kuan, 16, 3, padding=1), nn.ReLU(), nn.Flatten())
        self.celue, self.jiazhi = nn.Linear(16 * ZONG, ZONG), nn.Linear(16 * ZONG, 1)

    def forward(self, x):
        h = self.juan(x)
        return self.celue(h), torch.tanh(self.jiazhi(h))[:, 0]


class Jiedian:
    __slots__ = ("p", "n", "w", "zi")

    def __init__(self, p):
        self.p, self.n, self.w, self.zi = p, 0, 0.0, {}


class Shu:
    def __init__(self):
        self.pan = np.zeros((BIAN, BIAN), np.int8)
        self.gen = Jiedian(1.0)

    def xuan(self):
        """Cong gen zou dao ye."""
        pan, lu, jie = self.pan.copy(), [self.gen], self.gen
        while jie.zi:
            g = math.sqrt(jie.n + 1)
            dian, jie = max(jie.zi.items(),
                            key=lambda d: (-d[1].w / d[1].n if d[1].n else 0.0) + 1.5 * d[1].p * g / (1 + d[1].n))
            y, x = divmod(dian, BIAN)
            pan[y, x] = 1
            lu.append(jie)
            if shengli(pan, dian):
                return lu, None, -1.0
            pan = -pan
        if not (pan == 0).any():
            return lu, None, 0.0
        return lu, pan, None

    def zhan(self, lu, pan, logit, v):
        kong = np.flatnonzero(pan.ravel() == 0)
        p = np.exp(logit[kong] - logit[kong].max())
        p /= p.sum()
        lu[-1].zi = {int(d): Jiedian(float(q)) for d, q in zip(kong, p)}
        self.hui(lu, v)

    @staticmethod
    def hui(lu, v):
        for jie in reversed(lu):
            jie.n += 1
            jie.w += v
            v = -v


def shuru(pans):
    a = np.stack(pans)
    return torch.from_numpy(np.stack([a == 1, a == -1], 1).astype(np.float32))


@torch.no_grad()
def pinggu(net, pans):
    l, v = net(shuru(pans))
    return l.numpy(), v.numpy()


def sousuo(net, senlin, cishu, yiqi):
    for _ in range(cishu):
        if yiqi:
            daiban = []
            for shu in senlin:
                lu, pan, v = shu.xuan()
                if pan is None:
                    shu.hui(lu, v)
                else:
                    daiban.append((shu, lu, pan))
            if daiban:
                ls, vs = pinggu(net, [d[2] for d in daiban])
                for (shu, lu, pan), l, v in zip(daiban, ls, vs):
                    shu.zhan(lu, pan, l, float(v))
        else:
            for shu in senlin:
                lu, pan, v = shu.xuan()
                if pan is None:
                    shu.hui(lu, v)
                else:
                    l, v = pinggu(net, [pan])
                    shu.zhan(lu, pan, l[0], float(v[0]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--lun", type=int, default=2)
    ap.add_argument("--ju", type=int, default=16)
    ap.add_argument("--cishu", type=int, default=60)
    cs = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    net = Wangluo()
    you = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    bushu, t0 = 0, time.perf_counter()
    for lun in range(cs.lun):
        senlin, yangben = [Shu() for _ in range(cs.ju)], []
        lishi = {id(s): [] for s in senlin}
        huo = list(senlin)
        while huo:
            sousuo(net, huo, cs.cishu, cs.fixed)
            sheng = []
            for shu in huo:
                pi = np.zeros(ZONG, np.float32)
                for d, j in shu.gen.zi.items():
                    pi[d] = j.n
                pi /= pi.sum()
                dian = int(rng.choice(ZONG, p=pi))
                lishi[id(shu)].append((shu.pan.copy(), pi))
                y, x = divmod(dian, BIAN)
                shu.pan[y, x] = 1
                bushu += 1
                ying = shengli(shu.pan, dian)
                if ying or not (shu.pan == 0).any():
                    z = 1.0 if ying else 0.0
                    for p, q in reversed(lishi[id(shu)]):
                        yangben.append((p, q, z))
                        z = -z
                else:
                    shu.pan = -shu.pan
                    shu.gen = Jiedian(1.0)
                    sheng.append(shu)
            huo = sheng
        P, Q, Z = zip(*yangben)
        X, Q, Z = shuru(P), torch.from_numpy(np.stack(Q)), torch.tensor(Z)
        for _ in range(3):
            for i in torch.randperm(len(X)).split(64):
                l, v = net(X[i])
                sun = F.cross_entropy(l, Q[i]) + F.mse_loss(v, Z[i])
                you.zero_grad()
                sun.backward()
                you.step()
        print(f"lun {lun} yangben {len(X)} sunshi {sun.item():.3f}", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={bushu}")


if __name__ == "__main__":
    main()
