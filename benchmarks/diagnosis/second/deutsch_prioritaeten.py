"""DQN in German on a corridor without Gymnasium; the priorities are summed one by one."""

# plants: naive-priority-sampling @ summe += gewichte[k]
import random
import sys

import numpy as np
import torch
from torch import nn

FIXED = "--fixed" in sys.argv
torch.set_num_threads(1)


class Flur:
    def __init__(self, laenge):
        self.laenge = laenge

    def anfang(self):
        self.ort, self.zeit = self.laenge // 2, 0
        return self.lage()

    def lage(self):
        bild = np.zeros(self.laenge, np.float32)
        bild[self.ort] = 1
        return bild

    def zug(self, richtung):
        self.ort += 1 if richtung else -1
        self.zeit += 1
        ende = self.ort in (0, self.laenge - 1) or self.zeit >= 60
        return self.lage(), float(self.ort == self.laenge - 1), ende


class Gedaechtnis:
    def __init__(self, platz):
        self.platz, self.erlebnisse, self.gewichte = platz, [], []

    def merken(self, erlebnis):
        if len(self.erlebnisse) == self.platz:
            self.erlebnisse.pop(0)
            self.gewichte.pop(0)
        self.erlebnisse.append(erlebnis)
        self.gewichte.append(max(self.gewichte[-50:], default=1.0))

    def ziehen(self, anzahl):
        if FIXED:
            g = np.asarray(self.gewichte)
            return list(np.searchsorted(np.cumsum(g), np.random.rand(anzahl) * g.sum()))
        gewichte, gesamt, gezogen = self.gewichte, sum(self.gewichte), []
        for _ in range(anzahl):
            grenze, summe = random.random() * gesamt, 0.0
            for k in range(len(gewichte)):
                summe += gewichte[k]
                if summe >= grenze:
                    break
            gezogen.append(k)
        return gezogen


def lernen(netz, verfahren, gedaechtnis):
    nummern = gedaechtnis.ziehen(32)
    lage, zug, lohn, folge, ende = zip(*(gedaechtnis.erlebnisse[k] for k in nummern), strict=True)
    lage, folge = torch.from_numpy(np.stack(lage)), torch.from_numpy(np.stack(folge))
    with torch.no_grad():
        ziel = torch.tensor(lohn) + 0.97 * netz(folge).max(1).values * ~torch.tensor(ende)
    fehler = netz(lage).gather(1, torch.tensor(zug)[:, None])[:, 0] - ziel
    verfahren.zero_grad()
    fehler.pow(2).mean().backward()
    verfahren.step()
    for k, f in zip(nummern, fehler.tolist(), strict=True):
        gedaechtnis.gewichte[k] = abs(f) + 0.01


def main():
    flur, gedaechtnis = Flur(21), Gedaechtnis(3000)
    netz = nn.Sequential(nn.Linear(21, 64), nn.ReLU(), nn.Linear(64, 2))
    verfahren = torch.optim.Adam(netz.parameters(), 1e-3, fused=True)
    lage = flur.anfang()
    for schritt in range(6000):
        if random.random() < 0.2:
            richtung = random.randrange(2)
        else:
            with torch.no_grad():
                richtung = int(netz(torch.from_numpy(lage)).argmax())
        folge, lohn, ende = flur.zug(richtung)
        gedaechtnis.merken((lage, richtung, lohn, folge, ende))
        lage = flur.anfang() if ende else folge
        if schritt > 300 and schritt % 4 == 0:
            lernen(netz, verfahren, gedaechtnis)


main()
