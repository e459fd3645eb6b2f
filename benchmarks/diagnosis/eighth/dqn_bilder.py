# plants: image-resize @ bild = bild.resize((42, 42), Image.LANCZOS)
# plants: checkpointing @ torch.save({"netz": netz.state_dict(), "erlebt": self.erlebt}, self.datei)
"""DQN auf Bildern: ein Schläger fängt Bälle; das Spiel malt 168 mal 168 Punkte."""

import argparse
import os
import tempfile
import time
from collections import deque

import gymnasium as gym
import numpy as np
import torch
from PIL import Image
from torch import nn

p = argparse.ArgumentParser()
p.add_argument("--fixed", action="store_true")
p.add_argument("--fixed1", action="store_true", help="jeden vierten Punkt statt LANCZOS")
p.add_argument("--fixed2", action="store_true", help="seltener sichern")
p.add_argument("--schritte", type=int, default=2600)
arg = p.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)


class Fangspiel(gym.Env):
    observation_space = gym.spaces.Box(0, 255, (168, 168, 3), np.uint8)
    action_space = gym.spaces.Discrete(3)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.ball = np.array([0, int(self.np_random.integers(10, 150))])
        self.schlaeger = 80
        return self._male(), {}

    def _male(self):
        bild = np.zeros((168, 168, 3), np.uint8)
        y, x = self.ball
        bild[y : y + 8, x : x + 8] = (255, 200, 40)
        bild[160:, self.schlaeger : self.schlaeger + 24] = (90, 255, 90)
        return bild

    def step(self, a):
        self.schlaeger = int(np.clip(self.schlaeger + 8 * (int(a) - 1), 0, 144))
        self.ball[0] += 8
        unten = self.ball[0] >= 156
        getroffen = unten and -8 < self.ball[1] - self.schlaeger < 24
        return self._male(), float(getroffen) - 0.5 * float(unten), bool(unten), False, {}


class Kleiner(gym.ObservationWrapper):
    def __init__(self, welt):
        super().__init__(welt)
        self.observation_space = gym.spaces.Box(0, 255, (42, 42), np.uint8)

    def observation(self, punkte):
        if arg.fixed or arg.fixed1:
            return punkte[::4, ::4].max(-1)
        bild = Image.fromarray(punkte)
        bild = bild.resize((42, 42), Image.LANCZOS)
        return np.asarray(bild.convert("L"))


class Sicherung:
    def __init__(self, erlebt):
        self.erlebt = erlebt
        self.datei = os.path.join(tempfile.mkdtemp(), "stand.pt")
        self.jede = 1000 if arg.fixed or arg.fixed2 else 100

    def vielleicht(self, schritt, netz):
        if schritt % self.jede == 0:
            torch.save({"netz": netz.state_dict(), "erlebt": self.erlebt}, self.datei)


def baue():
    return nn.Sequential(
        nn.Conv2d(1, 8, 6, 3), nn.ReLU(), nn.Conv2d(8, 16, 4, 2), nn.ReLU(), nn.Flatten(),
        nn.Linear(400, 64), nn.ReLU(), nn.Linear(64, 3),
    )  # fmt: skip


def als_tensor(bilder):
    return torch.from_numpy(np.stack(bilder)[:, None]).float() / 255


netz, ziel = baue(), baue()
ziel.load_state_dict(netz.state_dict())
adam = torch.optim.Adam(netz.parameters(), lr=3e-4, fused=True)
erlebt = deque(maxlen=3000)
sicherung = Sicherung(erlebt)
welt = Kleiner(Fangspiel())
wuerfel = np.random.default_rng(0)
s, _ = welt.reset(seed=0)
beginn = time.process_time()
for schritt in range(1, arg.schritte + 1):
    if wuerfel.random() < max(0.1, 1 - schritt / 1500):
        a = int(wuerfel.integers(3))
    else:
        with torch.no_grad():
            a = int(netz(als_tensor([s])).argmax())
    neu, lohn, fertig, _, _ = welt.step(a)
    erlebt.append((s, a, lohn, neu, fertig))
    s = welt.reset()[0] if fertig else neu
    if schritt > 200 and schritt % 8 == 0:
        stapel = [erlebt[i] for i in wuerfel.integers(len(erlebt), size=16)]
        S, A, R, N, F = zip(*stapel)
        with torch.no_grad():
            soll = torch.tensor(R) + 0.97 * ziel(als_tensor(N)).max(1).values * ~torch.tensor(F)
        ist = netz(als_tensor(S)).gather(1, torch.tensor(A)[:, None]).squeeze(1)
        verlust = nn.functional.smooth_l1_loss(ist, soll)
        adam.zero_grad()
        verlust.backward()
        adam.step()
    if schritt % 400 == 0:
        ziel.load_state_dict(netz.state_dict())
        print("Schritt", schritt)
    sicherung.vielleicht(schritt, netz)
print(f"cpu {time.process_time() - beginn:.2f} work {arg.schritte}")
