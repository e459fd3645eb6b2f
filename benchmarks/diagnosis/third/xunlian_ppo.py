"""Xunhuan PPO: zhi neng kan dao weizhi, sudu yao cong lishi tuiduan (GRU)."""

# plants: stepwise-recurrence @ h, jiyi = self.gru(x[t : t + 1], jiyi)
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
from gymnasium import spaces
from torch.distributions import Categorical


class BaiHuanjing:
    """Yi pi dao li bai, guance zhi you jiaodu; meihe guding 64 bu."""

    def __init__(self, shuliang, changdu=64, zhongzi=0):
        self.shuliang, self.changdu = shuliang, changdu
        self.suiji = np.random.default_rng(zhongzi)
        self.dongzuo_kongjian = spaces.Discrete(3)

    def chongzhi(self):
        self.jiaodu = self.suiji.uniform(-0.3, 0.3, self.shuliang)
        self.sudu = self.suiji.uniform(-0.5, 0.5, self.shuliang)
        self.bushu = 0
        return self.guance()

    def guance(self):
        return np.stack(
            [
                np.cos(self.jiaodu),
                np.sin(self.jiaodu),
                np.full(self.shuliang, self.bushu / self.changdu),
            ],
            1,
        ).astype(np.float32)

    def zou(self, dongzuo):
        self.sudu += 0.05 * (9.8 * np.sin(self.jiaodu) + 6.0 * (dongzuo - 1))
        self.sudu *= 0.99
        self.jiaodu += 0.05 * self.sudu
        self.bushu += 1
        jiangli = np.cos(self.jiaodu) - 0.01 * self.sudu**2
        return self.guance(), jiangli.astype(np.float32), self.bushu >= self.changdu


class XunhuanWangluo(nn.Module):
    def __init__(self, zhubu, yincang=96):
        super().__init__()
        self.zhubu = zhubu
        self.bianma = nn.Linear(3, yincang)
        self.gru = nn.GRU(yincang, yincang)
        self.celue = nn.Linear(yincang, 3)
        self.jiazhi = nn.Linear(yincang, 1)
        self.yincang = yincang

    def forward(self, guance, jiyi):
        """guance: (shijian, pi, 3); fanhui logits, jiazhi, xin jiyi."""
        x = torch.tanh(self.bianma(guance))
        if self.zhubu:
            shuchu = []
            for t in range(x.shape[0]):
                h, jiyi = self.gru(x[t : t + 1], jiyi)
                shuchu.append(h)
            x = torch.cat(shuchu)
        else:
            x, jiyi = self.gru(x, jiyi)
        return self.celue(x), self.jiazhi(x).squeeze(-1), jiyi


def youshi(jiangli, jiazhi, gamma=0.98, lam=0.95):
    adv = torch.zeros_like(jiangli)
    zuihou = torch.zeros(jiangli.shape[1])
    for t in reversed(range(len(jiangli))):
        xia = jiazhi[t + 1] if t + 1 < len(jiangli) else torch.zeros_like(zuihou)
        zuihou = jiangli[t] + gamma * xia - jiazhi[t] + gamma * lam * zuihou
        adv[t] = zuihou
    return adv


def zhuyao():
    jiexi = argparse.ArgumentParser()
    jiexi.add_argument("--steps", type=int, default=36000)
    jiexi.add_argument("--fixed", action="store_true")
    canshu = jiexi.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    N, T, yincang = 32, 64, 96
    huanjing = BaiHuanjing(N, T)
    wangluo = XunhuanWangluo(zhubu=not canshu.fixed, yincang=yincang)
    youhua = torch.optim.Adam(wangluo.parameters(), lr=5e-4, fused=True)
    zongbu = lunshu = 0
    kaishi = time.perf_counter()
    while zongbu < canshu.steps:
        G, D, L, V, J = [], [], [], [], []
        guance = torch.from_numpy(huanjing.chongzhi())
        jiyi = torch.zeros(1, N, yincang)
        wan = False
        while not wan:
            with torch.no_grad():
                logits, zhi, jiyi = wangluo(guance[None], jiyi)
                fenbu = Categorical(logits=logits[0], validate_args=False)
                dongzuo = fenbu.sample()
            G.append(guance), D.append(dongzuo), L.append(fenbu.log_prob(dongzuo)), V.append(zhi[0])
            guance, jiangli, wan = huanjing.zou(dongzuo.numpy())
            guance = torch.from_numpy(guance)
            J.append(torch.from_numpy(jiangli))
            zongbu += N
        G, D, L, V, J = (torch.stack(x) for x in (G, D, L, V, J))
        adv = youshi(J, V)
        huibao = adv + V
        adv = (adv - adv.mean()) / (adv.std() + 1e-8)
        for _ in range(4):
            for pi in torch.randperm(N).chunk(4):
                logits, zhi, _ = wangluo(G[:, pi], torch.zeros(1, len(pi), yincang))
                fenbu = Categorical(logits=logits, validate_args=False)
                bilv = (fenbu.log_prob(D[:, pi]) - L[:, pi]).exp()
                a = adv[:, pi]
                sunshi = -torch.min(bilv * a, bilv.clamp(0.8, 1.2) * a).mean()
                sunshi = (
                    sunshi
                    + 0.5 * (zhi - huibao[:, pi]).pow(2).mean()
                    - 0.01 * fenbu.entropy().mean()
                )
                youhua.zero_grad()
                sunshi.backward()
                nn.utils.clip_grad_norm_(wangluo.parameters(), 0.5)
                youhua.step()
        lunshu += 1
        if lunshu % 5 == 0:
            print(f"lun {lunshu} bu {zongbu} jiangli {J.sum(0).mean().item():.2f}")
    print(f"loop_s {time.perf_counter() - kaishi:.3f} steps {zongbu}")


if __name__ == "__main__":
    zhuyao()
