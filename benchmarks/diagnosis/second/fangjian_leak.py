"""A room game in pinyin: every restart leaves its monsters in a list at module level."""

# plants: reset-leak @ for guai in SUO_YOU_GUAI:
import random
import sys

import numpy as np

FIXED = "--fixed" in sys.argv
SUO_YOU_GUAI = []


class GuaiWu:
    def __init__(self):
        self.x, self.y = random.randrange(9), random.randrange(9)

    def dong(self):
        self.x = (self.x + random.choice((-1, 0, 1))) % 9
        self.y = (self.y + random.choice((-1, 0, 1))) % 9


class FangJian:
    def kai_shi(self):
        if FIXED:
            SUO_YOU_GUAI.clear()
        SUO_YOU_GUAI.extend(GuaiWu() for _ in range(3))
        self.x = self.y = self.bu = 0
        return self.x * 9 + self.y

    def zou(self, fang_xiang):
        dx, dy = ((0, 1), (1, 0), (0, -1), (-1, 0))[fang_xiang]
        self.x, self.y = (self.x + dx) % 9, (self.y + dy) % 9
        zhuang = False
        for guai in SUO_YOU_GUAI:
            guai.dong()
            zhuang |= guai.x == self.x and guai.y == self.y
        self.bu += 1
        return self.x * 9 + self.y, -float(zhuang), self.bu >= 100


biao = np.zeros((81, 4))
fang = FangJian()
for hui_he in range(90):
    s, wan = fang.kai_shi(), False
    while not wan:
        a = random.randrange(4) if random.random() < 0.1 else int(biao[s].argmax())
        xia, jiang, wan = fang.zou(a)
        biao[s, a] += 0.1 * (jiang + 0.95 * biao[xia].max() - biao[s, a])
        s = xia
