# plants: growing-step-cost @ cishu = sum(1 for p in self.lishi if p == self.weizhi)
# biaoge SARSA, qipan shang zou lu; xin qi jiangli: lai guo ji ci
import argparse
import random
import time
from collections import Counter, defaultdict

jiexi = argparse.ArgumentParser()
jiexi.add_argument("--fixed", action="store_true")
jiexi.add_argument("--bushu", type=int, default=14000)
canshu = jiexi.parse_args()
random.seed(7)

FANGXIANG = [(1, 0), (-1, 0), (0, 1), (0, -1)]


class Qipan:
    def __init__(self, chang=16):
        self.chang = chang
        self.lishi = []
        self.jishu = Counter()
        self.qiang = {(random.randrange(chang), random.randrange(chang)) for _ in range(40)}
        self.qiang -= {(0, 0), (chang - 1, chang - 1)}

    def kaishi(self):
        self.weizhi = (0, 0)
        self.bu = 0
        return self.weizhi

    def zou(self, dongzuo):
        dx, dy = FANGXIANG[dongzuo]
        x = min(max(self.weizhi[0] + dx, 0), self.chang - 1)
        y = min(max(self.weizhi[1] + dy, 0), self.chang - 1)
        if (x, y) not in self.qiang:
            self.weizhi = (x, y)
        self.bu += 1
        if canshu.fixed:
            self.jishu[self.weizhi] += 1
            cishu = self.jishu[self.weizhi]
        else:
            self.lishi.append(self.weizhi)
            cishu = sum(1 for p in self.lishi if p == self.weizhi)
        daoda = self.weizhi == (self.chang - 1, self.chang - 1)
        jiangli = (10.0 if daoda else -0.05) + 0.2 / cishu**0.5
        return self.weizhi, jiangli, daoda or self.bu >= 300


def xuan(q, zt, tansuo):
    if random.random() < tansuo:
        return random.randrange(4)
    hang = q[zt]
    return max(range(4), key=hang.__getitem__)


def xunlian():
    q = defaultdict(lambda: [0.0] * 4)
    pan = Qipan()
    zongbu, ju, defen = 0, 0, 0.0
    while zongbu < canshu.bushu:
        zt = pan.kaishi()
        dz = xuan(q, zt, 0.2)
        jieshu = False
        while not jieshu:
            xin, jl, jieshu = pan.zou(dz)
            xindz = xuan(q, xin, max(0.05, 0.3 - zongbu / 50000))
            mubiao = jl + (0.0 if jieshu else 0.97 * q[xin][xindz])
            q[zt][dz] += 0.2 * (mubiao - q[zt][dz])
            zt, dz = xin, xindz
            zongbu += 1
            defen += jl
        ju += 1
    print("ju", ju, "defen", round(defen / ju, 2))
    return zongbu


if __name__ == "__main__":
    t = time.process_time()
    n = xunlian()
    print(f"cpu {time.process_time() - t:.2f} work {n}")
