# plants: stepwise-recurrence @ h = self.cell(tezheng[t], h)
"""Xunhuan A2C (GRU) zai jiyi renwu shang: kan yici xinhao, guohou huida."""

import sys
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(3)
XIU = "--fixed" in sys.argv
HUANJING, CHANGDU, ZHONGLEI, YINCANG = 16, 64, 6, 48


class JiyiHuanjing:
    """N ge huanjing yiqi: mei 8 bu geichu xin de xinhao, agent yao jizhu."""

    def __init__(self, n, seed):
        self.n, self.rng, self.bu = n, np.random.default_rng(seed), 0

    def guancha(self):
        x = np.zeros((self.n, ZHONGLEI + 2), np.float32)
        if self.bu % 8 == 0:
            self.xinhao = self.rng.integers(ZHONGLEI, size=self.n)
            x[np.arange(self.n), self.xinhao] = 1
        x[:, ZHONGLEI] = (self.bu % 8) / 8
        x[:, ZHONGLEI + 1] = 1
        return x

    def zou(self, dongzuo):
        jiangli = (dongzuo == self.xinhao).astype(np.float32)
        self.bu += 1
        return self.guancha(), jiangli


class Wangluo(nn.Module):
    def __init__(self):
        super().__init__()
        self.bian = nn.Linear(ZHONGLEI + 2, YINCANG)
        self.gru = nn.GRU(YINCANG, YINCANG)
        self.cell = nn.GRUCell(YINCANG, YINCANG)
        for ming in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):  # tong yi fen canshu
            setattr(self.cell, ming, getattr(self.gru, ming + "_l0"))
        self.celue = nn.Linear(YINCANG, ZHONGLEI)
        self.jiazhi = nn.Linear(YINCANG, 1)

    def yibu(self, x, h):
        h = self.cell(torch.relu(self.bian(x)), h)
        return self.celue(h), h

    def xulie(self, x, h):
        tezheng = torch.relu(self.bian(x))
        if XIU:
            chu, _ = self.gru(tezheng, h[None])
        else:
            chu = []
            for t in range(x.shape[0]):
                h = self.cell(tezheng[t], h)
                chu.append(h)
            chu = torch.stack(chu)
        return self.celue(chu), self.jiazhi(chu)[..., 0]


def huibao(r, zuihou, gamma=0.6):
    g, jieguo = zuihou, np.zeros_like(r)
    for t in range(len(r) - 1, -1, -1):
        g = r[t] + gamma * g
        jieguo[t] = g
    return torch.from_numpy(jieguo)


def xunlian(lunshu=110):
    huan, wang = JiyiHuanjing(HUANJING, 0), Wangluo()
    you = torch.optim.Adam(list(dict.fromkeys(wang.parameters())), lr=3e-3, fused=True)
    x, h = huan.guancha(), torch.zeros(HUANJING, YINCANG)
    kaishi = time.perf_counter()
    for lun in range(lunshu):
        h0 = h
        xs = np.zeros((CHANGDU, HUANJING, ZHONGLEI + 2), np.float32)
        dz = np.zeros((CHANGDU, HUANJING), np.int64)
        jl = np.zeros((CHANGDU, HUANJING), np.float32)
        with torch.no_grad():
            for t in range(CHANGDU):
                xs[t] = x
                logits, h = wang.yibu(torch.from_numpy(x), h)
                a = torch.multinomial(torch.softmax(logits, -1), 1)[:, 0].numpy()
                dz[t] = a
                x, jl[t] = huan.zou(a)
        xt, at = torch.from_numpy(xs), torch.from_numpy(dz)
        mubiao = huibao(jl, np.zeros(HUANJING, np.float32))
        for _ in range(4):
            logits, v = wang.xulie(xt, h0)
            logp = F.log_softmax(logits, -1)
            youshi = (mubiao - v).detach()
            shang = -(logp.exp() * logp).sum(-1).mean()
            sunshi = -(logp.gather(-1, at[..., None])[..., 0] * youshi).mean()
            sunshi = sunshi + 0.5 * F.mse_loss(v, mubiao) - 0.01 * shang
            you.zero_grad()
            sunshi.backward()
            nn.utils.clip_grad_norm_(wang.parameters(), 0.5)
            you.step()
    yong = time.perf_counter() - kaishi
    print(f"steps {lunshu * CHANGDU * HUANJING} loop_s {yong:.3f} return {jl.mean():.3f}")


xunlian()
