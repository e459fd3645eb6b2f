"""Actor-critic with pinyin names; every distribution validates its arguments."""

# plants: distribution-validation @ Normal(
import sys

import numpy as np
import torch
from torch import nn
from torch.distributions import Independent, Normal

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)


class HuanJing:
    """Sixteen points on a line, each pushed towards zero."""

    def chong_zhi(self):
        self.wei_zhi = np.random.randn(16, 4).astype(np.float32)
        self.bu = 0
        return self.wei_zhi.copy()

    def zou(self, dong_zuo):
        self.wei_zhi += 0.1 * dong_zuo
        self.bu += 1
        return self.wei_zhi.copy(), -np.abs(self.wei_zhi).sum(1), self.bu >= 40


ce_lue = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 4))
jia_zhi = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 1))
you_hua = torch.optim.Adam([*ce_lue.parameters(), *jia_zhi.parameters()], 3e-4, fused=True)


def fen_bu(zhuang_tai):
    kuan = torch.full((4,), 0.3)
    if FIXED:
        return Independent(
            Normal(ce_lue(zhuang_tai), kuan, validate_args=False), 1, validate_args=False
        )
    return Independent(Normal(ce_lue(zhuang_tai), kuan), 1)


def xun_lian(lun_shu):
    huan_jing = HuanJing()
    zhuang_tai = torch.from_numpy(huan_jing.chong_zhi())
    for _ in range(lun_shu):
        ji_lu = []
        for _ in range(10):
            with torch.no_grad():
                xuan = fen_bu(zhuang_tai)
                dong_zuo = xuan.sample()
                jiu = xuan.log_prob(dong_zuo)
            xia, jiang_li, wan = huan_jing.zou(dong_zuo.numpy())
            ji_lu.append((zhuang_tai, dong_zuo, jiu, torch.from_numpy(jiang_li)))
            zhuang_tai = torch.from_numpy(huan_jing.chong_zhi() if wan else xia)
        hui_bao = jia_zhi(zhuang_tai)[:, 0].detach()
        for z, d, j, r in reversed(ji_lu):
            hui_bao = r + 0.95 * hui_bao
            you_shi = hui_bao - jia_zhi(z)[:, 0]
            bi = (fen_bu(z).log_prob(d) - j).exp()
            sun_shi = -(bi * you_shi.detach()).mean() + you_shi.pow(2).mean()
            you_hua.zero_grad()
            sun_shi.backward()
            you_hua.step()


xun_lian(500)
