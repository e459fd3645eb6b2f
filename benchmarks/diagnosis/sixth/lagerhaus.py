# plants: redundant-work-in-step @ weg = self._entfernungen(self.ziel)
"""DQN für einen Lagerroboter; die Belohnung wird mit dem kürzesten Weg geformt."""

import random
import sys
import time
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
BEHOBEN = "--fixed" in sys.argv

PLAN = """
####################
#....#.....#......S#
#.##.#.###.#.####..#
#.#....#.....#..#..#
#.#.####.###.#.##.##
#......#.#.......S.#
####.#.#.#.#####.#.#
#S...#...#.....#.#.#
#.####.#####.#.#.#.#
#......#.....#....S#
####################
""".split()


class Lagerhaus(gym.Env):
    def __init__(self):
        self.observation_space = gym.spaces.Box(0, 1, (13,), np.float32)
        self.action_space = gym.spaces.Discrete(4)
        self.frei = {(z, s) for z, r in enumerate(PLAN) for s, c in enumerate(r) if c != "#"}
        self.regale = [(z, s) for z, r in enumerate(PLAN) for s, c in enumerate(r) if c == "S"]
        self.liste = sorted(self.frei)
        self.karten = {}

    def _entfernungen(self, ziel):
        if BEHOBEN and ziel in self.karten:
            return self.karten[ziel]
        weite, rand = {ziel: 0}, deque([ziel])
        while rand:
            z, s = rand.popleft()
            for nachbar in ((z + 1, s), (z - 1, s), (z, s + 1), (z, s - 1)):
                if nachbar in self.frei and nachbar not in weite:
                    weite[nachbar] = weite[(z, s)] + 1
                    rand.append(nachbar)
        self.karten[ziel] = weite
        return weite

    def _sicht(self):
        z, s = self.ort
        offen = [((z + dz, s + ds) in self.frei) for dz in (-1, 0, 1) for ds in (-1, 0, 1)]
        return np.array([z / 11, s / 20, self.ziel[0] / 11, self.ziel[1] / 20, *offen], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.ort = self.liste[int(self.np_random.integers(len(self.liste)))]
        self.ziel = self.regale[int(self.np_random.integers(len(self.regale)))]
        self.zeit = 0
        return self._sicht(), {}

    def step(self, aktion):
        dz, ds = ((1, 0), (-1, 0), (0, 1), (0, -1))[aktion]
        weg = self._entfernungen(self.ziel)
        vorher = weg[self.ort]
        neu = (self.ort[0] + dz, self.ort[1] + ds)
        if neu in self.frei:
            self.ort = neu
        nachher = self._entfernungen(self.ziel)[self.ort]
        self.zeit += 1
        fertig = self.ort == self.ziel
        lohn = 0.1 * (vorher - nachher) - 0.01 + float(fertig)
        return self._sicht(), lohn, fertig, self.zeit >= 80, {}


class Speicher:
    def __init__(self, groesse, breite):
        self.s = np.zeros((groesse, breite), np.float32)
        self.n = np.zeros((groesse, breite), np.float32)
        self.a = np.zeros(groesse, np.int64)
        self.r = np.zeros(groesse, np.float32)
        self.f = np.zeros(groesse, np.float32)
        self.groesse, self.zahl = groesse, 0

    def merke(self, s, a, r, n, f):
        i = self.zahl % self.groesse
        self.s[i], self.a[i], self.r[i], self.n[i], self.f[i] = s, a, r, n, f
        self.zahl += 1

    def ziehe(self, menge, rng):
        i = rng.integers(0, min(self.zahl, self.groesse), menge)
        return [torch.from_numpy(x[i]) for x in (self.s, self.a, self.r, self.n, self.f)]


def main(schritte=19000):
    random.seed(0)
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    welt = Lagerhaus()
    netz = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    alt = nn.Sequential(nn.Linear(13, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 4))
    alt.load_state_dict(netz.state_dict())
    adam = torch.optim.Adam(netz.parameters(), lr=5e-4, fused=True)
    speicher = Speicher(20000, 13)
    s, _ = welt.reset(seed=0)
    summe, ertraege = 0.0, deque([0.0], maxlen=50)
    start = time.perf_counter()
    for t in range(schritte):
        if random.random() < max(0.05, 1 - t / 5000):
            a = random.randrange(4)
        else:
            with torch.no_grad():
                a = int(netz(torch.from_numpy(s)).argmax())
        n, r, fertig, ende, _ = welt.step(a)
        speicher.merke(s, a, r, n, float(fertig))
        summe += r
        s = n
        if fertig or ende:
            ertraege.append(summe)
            summe = 0.0
            s, _ = welt.reset()
        if t > 500 and t % 4 == 0:
            bs, ba, br, bn, bf = speicher.ziehe(64, rng)
            with torch.no_grad():
                y = br + 0.97 * (1 - bf) * alt(bn).max(1).values
            q = netz(bs).gather(1, ba[:, None])[:, 0]
            verlust = nn.functional.smooth_l1_loss(q, y)
            adam.zero_grad()
            verlust.backward()
            adam.step()
        if t % 500 == 0:
            alt.load_state_dict(netz.state_dict())
    dauer = time.perf_counter() - start
    print(f"steps {schritte} loop_s {dauer:.3f} return {np.mean(ertraege):.3f}")


if __name__ == "__main__":
    main()
