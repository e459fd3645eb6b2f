"""Lagerhaltung: ein DQN-Agent bestellt Ware für drei Artikel, mit gewichtetem Erfahrungsspeicher."""

# plants: naive-priority-sampling @ idx = np.random.choice(self.anzahl, n, replace=False, p=wahrscheinlichkeit)
import argparse
import time
from collections import deque

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn

BESTELLMENGEN = np.array([(a, b, c) for a in (0, 4) for b in (0, 4) for c in (0, 4)])


class Lager(gym.Env):
    def __init__(self, tage=200):
        self.tage = tage
        self.observation_space = gym.spaces.Box(-1.0, 5.0, (11,), np.float32)
        self.action_space = gym.spaces.Discrete(len(BESTELLMENGEN))

    def _beobachtung(self):
        wochentag = 2 * np.pi * self.tag / 7
        return np.concatenate(
            [self.bestand / 10, self.unterwegs.ravel() / 10, [np.sin(wochentag), np.cos(wochentag)]]
        ).astype(np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.bestand = self.np_random.integers(0, 10, 3).astype(float)
        self.unterwegs = np.zeros((2, 3))
        self.tag = 0
        return self._beobachtung(), {}

    def step(self, aktion):
        self.bestand = np.minimum(self.bestand + self.unterwegs[0], 20)
        self.unterwegs[0] = self.unterwegs[1]
        self.unterwegs[1] = BESTELLMENGEN[aktion]
        nachfrage = self.np_random.poisson(
            (1.5 + np.sin(2 * np.pi * self.tag / 7)) * np.array([1.0, 0.7, 1.3])
        )
        verkauf = np.minimum(self.bestand, nachfrage)
        self.bestand -= verkauf
        ertrag = verkauf.sum() - 0.1 * self.bestand.sum() - 0.5 * (nachfrage - verkauf).sum()
        self.tag += 1
        return self._beobachtung(), float(ertrag), False, self.tag >= self.tage, {}


class Erfahrungsspeicher:
    def __init__(self, groesse, alpha=0.6, beta=0.4, schnell=False):
        self.groesse, self.alpha, self.beta, self.schnell = groesse, alpha, beta, schnell
        self.zustand = np.zeros((groesse, 11), np.float32)
        self.folge = np.zeros((groesse, 11), np.float32)
        self.aktion = np.zeros(groesse, np.int64)
        self.ertrag = np.zeros(groesse, np.float32)
        self.gewicht = np.zeros(groesse)
        self.anzahl = self.stelle = 0
        self.hoechstes = 1.0

    def merken(self, z, a, e, f):
        i = self.stelle
        self.zustand[i], self.aktion[i], self.ertrag[i], self.folge[i] = z, a, e, f
        self.gewicht[i] = self.hoechstes
        self.stelle = (i + 1) % self.groesse
        self.anzahl = min(self.anzahl + 1, self.groesse)

    def ziehen(self, n):
        g = self.gewicht[: self.anzahl]
        if self.schnell:
            summe = np.cumsum(g)
            idx = np.searchsorted(summe, np.random.rand(n) * summe[-1]).clip(0, self.anzahl - 1)
            p = g[idx] / summe[-1]
        else:
            wahrscheinlichkeit = g / g.sum()
            idx = np.random.choice(self.anzahl, n, replace=False, p=wahrscheinlichkeit)
            p = wahrscheinlichkeit[idx]
        w = (self.anzahl * p) ** -self.beta
        felder = (self.zustand, self.aktion, self.ertrag, self.folge)
        return (
            idx,
            torch.from_numpy((w / w.max()).astype(np.float32)),
            [torch.from_numpy(x[idx]) for x in felder],
        )

    def anpassen(self, idx, fehler):
        neu = (np.abs(fehler) + 1e-3) ** self.alpha
        self.gewicht[idx] = neu
        self.hoechstes = max(self.hoechstes, float(neu.max()))


def netz():
    return nn.Sequential(
        nn.Linear(11, 64),
        nn.ReLU(),
        nn.Linear(64, 64),
        nn.ReLU(),
        nn.Linear(64, len(BESTELLMENGEN)),
    )


def lernen(speicher, modell, ziel, optimierer):
    idx, w, (z, a, e, f) = speicher.ziehen(64)
    with torch.no_grad():
        soll = e + 0.97 * ziel(f).max(1).values
    ist = modell(z).gather(1, a[:, None])[:, 0]
    fehler = soll - ist
    verlust = (w * fehler.pow(2)).mean()
    optimierer.zero_grad()
    verlust.backward()
    optimierer.step()
    speicher.anpassen(idx, fehler.detach().numpy())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=11000)
    ap.add_argument("--fixed", action="store_true")
    arg = ap.parse_args()
    np.random.seed(0)
    torch.manual_seed(0)
    torch.set_num_threads(1)
    umwelt = Lager()
    speicher = Erfahrungsspeicher(100_000, schnell=arg.fixed)
    modell, ziel = netz(), netz()
    ziel.load_state_dict(modell.state_dict())
    optimierer = torch.optim.Adam(modell.parameters(), lr=5e-4, fused=True)

    zustand, _ = umwelt.reset(seed=0)
    for _ in range(80_000):  # Vorlauf mit zufälligen Bestellungen
        aktion = int(np.random.randint(len(BESTELLMENGEN)))
        folge, ertrag, _, ende, _ = umwelt.step(aktion)
        speicher.merken(zustand, aktion, ertrag, folge)
        zustand = umwelt.reset()[0] if ende else folge

    ertraege, summe = deque(maxlen=20), 0.0
    beginn = time.perf_counter()
    for schritt in range(1, arg.steps + 1):
        if np.random.rand() < max(0.05, 1 - 2 * schritt / arg.steps):
            aktion = int(np.random.randint(len(BESTELLMENGEN)))
        else:
            with torch.no_grad():
                aktion = int(modell(torch.from_numpy(zustand)).argmax())
        folge, ertrag, _, ende, _ = umwelt.step(aktion)
        speicher.merken(zustand, aktion, ertrag, folge)
        summe += ertrag
        if ende:
            ertraege.append(summe)
            summe = 0.0
            folge, _ = umwelt.reset()
        zustand = folge
        if schritt % 2 == 0:
            lernen(speicher, modell, ziel, optimierer)
        if schritt % 500 == 0:
            ziel.load_state_dict(modell.state_dict())
        if schritt % 4000 == 0:
            print(f"Schritt {schritt} Ertrag {np.mean(ertraege):.1f}")
    print(f"loop_s {time.perf_counter() - beginn:.3f} steps {arg.steps}")


if __name__ == "__main__":
    main()
