# plants: buffer-cost-grows @ quanbu = [np.array(
"""Shendu Q wangluo: jingyan fang zai liebiao li, mei ci chouyang dou zhuan cheng shuzu."""

import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
XIUFU = "--fixed" in sys.argv


class Dianti:
    """Yi bu dianti he wu ceng lou."""

    def __init__(self, zhongzi=0):
        self.suiji = np.random.default_rng(zhongzi)
        self.cengshu = 5

    def chushi(self):
        self.ceng, self.dengdai, self.shijian = 0, np.zeros(5), 0
        return self.guancha()

    def guancha(self):
        weizhi = np.eye(5)[self.ceng]
        return np.concatenate([weizhi, self.dengdai / 5]).astype(np.float32)

    def zou(self, dongzuo):
        self.ceng = int(np.clip(self.ceng + dongzuo - 1, 0, 4))
        if dongzuo == 1:
            self.dengdai[self.ceng] = 0
        self.dengdai[self.suiji.integers(5)] += self.suiji.random() < 0.3
        self.shijian += 1
        return self.guancha(), -float(self.dengdai.sum()) / 10, self.shijian >= 200


class Jiyi:
    def __init__(self, rongliang=50000):
        self.rongliang, self.liebiao, self.weizhi = rongliang, [], 0

    def cun(self, *jingyan):
        if len(self.liebiao) < self.rongliang:
            self.liebiao.append(jingyan)
        else:
            self.liebiao[self.weizhi % self.rongliang] = jingyan
        self.weizhi += 1

    def chouyang(self, shuliang):
        suoyin = np.random.randint(0, len(self.liebiao), shuliang)
        if XIUFU:
            xuanzhong = [self.liebiao[i] for i in suoyin]
            return [torch.from_numpy(np.array(x, np.float32)) for x in zip(*xuanzhong, strict=True)]
        quanbu = [np.array(x, np.float32) for x in zip(*self.liebiao, strict=True)]
        return [torch.from_numpy(x[suoyin]) for x in quanbu]


def main():
    dianti, jiyi = Dianti(), Jiyi()
    wangluo, mubiao = (
        nn.Sequential(nn.Linear(10, 64), nn.ReLU(), nn.Linear(64, 3)) for _ in range(2)
    )
    youhua = torch.optim.Adam(wangluo.parameters(), 1e-3, fused=True)
    zhuangtai, bu, kaishi = dianti.chushi(), 0, time.perf_counter()
    while bu < 6000:
        with torch.no_grad():
            dongzuo = int(wangluo(torch.from_numpy(zhuangtai)).argmax())
        if np.random.random() < 0.1:
            dongzuo = np.random.randint(3)
        xiayige, jiangli, jieshu = dianti.zou(dongzuo)
        jiyi.cun(zhuangtai, dongzuo, jiangli, xiayige, jieshu)
        zhuangtai = dianti.chushi() if jieshu else xiayige
        bu += 1
        if bu > 100 and bu % 4 == 0:
            s, a, r, s2, d = jiyi.chouyang(64)
            with torch.no_grad():
                mb = r + 0.98 * (1 - d) * mubiao(s2).max(1).values
            sunshi = (wangluo(s).gather(1, a.long()[:, None])[:, 0] - mb).pow(2).mean()
            youhua.zero_grad()
            sunshi.backward()
            youhua.step()
        if bu % 500 == 0:
            mubiao.load_state_dict(wangluo.state_dict())
    print(f"{bu / (time.perf_counter() - kaishi):.1f} steps/s")


main()
