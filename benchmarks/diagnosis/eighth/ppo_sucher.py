# plants: redundant-work-in-step @ entfernung = self._entfernungen(self.ziel)
"""PPO in einer Datei: ein Sucher in einem Labyrinth, dessen Waende je Lauf fest stehen."""

import argparse
import time
from collections import deque

import numpy as np
import torch
import torch.nn as nn
from torch.distributions import Categorical

parser = argparse.ArgumentParser()
parser.add_argument("--fixed", action="store_true")
parser.add_argument("--runden", type=int, default=10)
args = parser.parse_args()

ZUEGE = ((0, 1), (1, 0), (0, -1), (-1, 0))
torch.set_num_threads(1)


class Labyrinth:
    def __init__(self, saat, groesse=21):
        self.zufall = np.random.default_rng(saat)
        self.groesse = groesse
        self.waende = self.zufall.random((groesse, groesse)) < 0.22
        self.waende[0, :] = self.waende[-1, :] = True
        self.waende[:, 0] = self.waende[:, -1] = True
        self.frei = [tuple(p) for p in np.argwhere(~self.waende)]
        self.ziel = self.frei[len(self.frei) // 2]
        self.karte = None

    def reset(self):
        self.ort = self.frei[self.zufall.integers(len(self.frei))]
        self.schritte = 0
        return self._beobachtung()

    def _entfernungen(self, ziel):
        weit = np.full((self.groesse, self.groesse), 99, dtype=np.float32)
        weit[ziel] = 0
        schlange = deque([ziel])
        while schlange:
            y, x = schlange.popleft()
            for dy, dx in ZUEGE:
                n = (y + dy, x + dx)
                if not self.waende[n] and weit[n] > 90:
                    weit[n] = weit[y, x] + 1
                    schlange.append(n)
        return weit

    def _beobachtung(self):
        if args.fixed:
            if self.karte is None:
                self.karte = self._entfernungen(self.ziel)
            entfernung = self.karte
        else:
            entfernung = self._entfernungen(self.ziel)
        y, x = self.ort
        nah = [min(entfernung[y + dy, x + dx], 40.0) / 40.0 for dy, dx in ZUEGE]
        sicht = self.waende[y - 1 : y + 2, x - 1 : x + 2].ravel()
        self.jetzt = float(entfernung[y, x])
        return np.array([*nah, *sicht, y / self.groesse, x / self.groesse], dtype=np.float32)

    def step(self, zug):
        dy, dx = ZUEGE[zug]
        vorher = self.jetzt
        n = (self.ort[0] + dy, self.ort[1] + dx)
        if not self.waende[n]:
            self.ort = n
        self.schritte += 1
        sicht = self._beobachtung()
        lohn = 0.1 * (vorher - self.jetzt) + (1.0 if self.ort == self.ziel else 0.0)
        fertig = self.ort == self.ziel or self.schritte >= 120
        return sicht, lohn, fertig


class Netz(nn.Module):
    def __init__(self):
        super().__init__()
        self.rumpf = nn.Sequential(nn.Linear(15, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.politik = nn.Linear(64, 4)
        self.wert = nn.Linear(64, 1)

    def forward(self, x):
        h = self.rumpf(x)
        return Categorical(logits=self.politik(h)), self.wert(h).squeeze(-1)


UMGEBUNGEN, LAENGE = 8, 64
netz = Netz()
optimierer = torch.optim.Adam(netz.parameters(), lr=3e-4, fused=True)
welten = [Labyrinth(i) for i in range(UMGEBUNGEN)]
sicht = np.stack([w.reset() for w in welten])
beginn = time.process_time()
for runde in range(args.runden):
    S = torch.zeros(LAENGE, UMGEBUNGEN, 15)
    A, L, R, F, V = (torch.zeros(LAENGE, UMGEBUNGEN) for _ in range(5))
    for t in range(LAENGE):
        S[t] = torch.from_numpy(sicht)
        with torch.no_grad():
            verteilung, wert = netz(S[t])
            zug = verteilung.sample()
        A[t], L[t], V[t] = zug, verteilung.log_prob(zug), wert
        neu = []
        for i, welt in enumerate(welten):
            s, lohn, fertig = welt.step(int(zug[i]))
            R[t, i], F[t, i] = lohn, float(fertig)
            neu.append(welt.reset() if fertig else s)
        sicht = np.stack(neu)
    with torch.no_grad():
        naechster = netz(torch.from_numpy(sicht))[1]
    vorteil, summe = torch.zeros_like(R), torch.zeros(UMGEBUNGEN)
    for t in reversed(range(LAENGE)):
        folge = naechster if t == LAENGE - 1 else V[t + 1]
        delta = R[t] + 0.99 * folge * (1 - F[t]) - V[t]
        summe = delta + 0.99 * 0.95 * (1 - F[t]) * summe
        vorteil[t] = summe
    ertrag = (vorteil + V).reshape(-1)
    s, a, l, v = S.reshape(-1, 15), A.reshape(-1), L.reshape(-1), vorteil.reshape(-1)
    for _ in range(4):
        for idx in torch.randperm(len(s)).split(128):
            verteilung, wert = netz(s[idx])
            quotient = (verteilung.log_prob(a[idx]) - l[idx]).exp()
            w = (v[idx] - v[idx].mean()) / (v[idx].std() + 1e-8)
            verlust = -torch.min(quotient * w, quotient.clamp(0.8, 1.2) * w).mean()
            verlust = verlust + 0.5 * (wert - ertrag[idx]).pow(2).mean()
            verlust = verlust - 0.01 * verteilung.entropy().mean()
            optimierer.zero_grad()
            verlust.backward()
            optimierer.step()
    print(f"Runde {runde}: Lohn je Schritt {R.mean():.3f}")
dauer = time.process_time() - beginn
print(f"cpu {dauer:.2f} work {args.runden * LAENGE * UMGEBUNGEN}")
