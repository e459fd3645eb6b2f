# plants: unbatched-policy @ gailv = self.wangluo(
# plants: deepcopy-in-step @ copy.deepcopy(self.jilu)
"""Duo zhinengti yuqun: mei tiao yu danduo jinxing qianxiang jisuan (da), mei bu shenkaobei
(xiao).
"""

import copy
import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
YI = "--fixed" in sys.argv or "--fixed1" in sys.argv
ER = "--fixed" in sys.argv or "--fixed2" in sys.argv
SHULIANG = 20


class Haiyang:
    """Er shi tiao yu duobi yi tiao shayu."""

    def chongzhi(self):
        self.yu = np.random.uniform(-1, 1, (SHULIANG, 2))
        self.shayu, self.bu = np.zeros(2), 0
        self.jilu = {i: {"chi": 0, "weizhi": [0.0, 0.0]} for i in range(SHULIANG)}
        return self.kan()

    def kan(self):
        zhongxin = self.yu.mean(0)
        return np.concatenate(
            [self.yu, self.shayu - self.yu, zhongxin - self.yu],
            axis=1,
            dtype=np.float32,
            casting="unsafe",
        )

    def zou(self, dongzuo):
        jiao = dongzuo * (np.pi / 4)
        self.yu = np.clip(self.yu + 0.03 * np.stack([np.cos(jiao), np.sin(jiao)], 1), -1, 1)
        juli = np.linalg.norm(self.yu - self.shayu, axis=1)
        zuijin = int(juli.argmin())
        self.shayu = self.shayu + 0.02 * (self.yu[zuijin] - self.shayu) / (juli[zuijin] + 1e-6)
        self.jilu[zuijin]["chi"] += int(juli[zuijin] < 0.05)
        self.bu += 1
        xinxi = self.jilu if ER else copy.deepcopy(self.jilu)
        return self.kan(), (0.1 * juli - (juli < 0.05)).astype(np.float32), self.bu >= 100, xinxi


class Daili:
    def __init__(self):
        self.wangluo = nn.Sequential(nn.Linear(6, 64), nn.Tanh(), nn.Linear(64, 8))
        self.youhua = torch.optim.Adam(self.wangluo.parameters(), 1e-3, fused=True)

    def xuan(self, guancha):
        with torch.no_grad():
            gailv = self.wangluo(torch.from_numpy(guancha)).softmax(-1)
        return torch.multinomial(gailv, 1)[..., 0].numpy()

    def xuexi(self, g, d, j):
        huibao = np.cumsum(np.stack(j)[::-1], 0)[::-1].copy()
        huibao = torch.from_numpy((huibao - huibao.mean()) / (huibao.std() + 1e-6)).reshape(-1)
        logp = self.wangluo(torch.from_numpy(np.concatenate(g))).log_softmax(-1)
        xuan = logp.gather(1, torch.from_numpy(np.concatenate(d))[:, None])[:, 0]
        sunshi = -(xuan * huibao).mean()
        self.youhua.zero_grad()
        sunshi.backward()
        self.youhua.step()


def main():
    haiyang, daili, bushu = Haiyang(), Daili(), 0
    kaishi = time.perf_counter()
    while time.perf_counter() - kaishi < 7:
        guancha, jieshu = haiyang.chongzhi(), False
        g, d, j = [], [], []
        while not jieshu:
            if YI:
                dongzuo = daili.xuan(guancha)
            else:
                dongzuo = np.array([int(daili.xuan(hang)) for hang in guancha])
            g.append(guancha)
            d.append(dongzuo)
            guancha, jiangli, jieshu, _ = haiyang.zou(dongzuo)
            j.append(jiangli)
            bushu += 1
        daili.xuexi(g, d, j)
    print(f"{bushu / (time.perf_counter() - kaishi):.1f} steps/s")


main()
