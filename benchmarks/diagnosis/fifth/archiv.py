# plants: unbounded-rollout @ self.verlauf.append(
"""REINFORCE mit Grundlinie für ein Lager: bestellen, lagern, verkaufen."""

import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)


class Lager:
    def __init__(self, saat):
        self.zufall = np.random.default_rng(saat)

    def anfang(self):
        self.bestand, self.tag, self.unterwegs = 10, 0, [0, 0]
        return self.blick()

    def blick(self):
        return np.array(
            [self.bestand / 20, *(u / 10 for u in self.unterwegs), self.tag / 50], np.float32
        )

    def tick(self, menge):
        self.bestand += self.unterwegs.pop(0)
        self.unterwegs.append(menge)
        nachfrage = self.zufall.poisson(4)
        verkauft = min(self.bestand, nachfrage)
        self.bestand -= verkauft
        self.tag += 1
        lohn = 2.0 * verkauft - 0.1 * self.bestand - 0.5 * (menge > 0) - menge
        return self.blick(), lohn, self.tag == 50


class Haendler(nn.Module):
    def __init__(self):
        super().__init__()
        self.stamm = nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU())
        self.kopf, self.wert = nn.Linear(64, 10), nn.Linear(64, 1)
        self.verlauf = []
        self.optimierer = torch.optim.Adam(self.parameters(), 1e-3, fused=True)

    @torch.no_grad()
    def waehle(self, blick):
        logits = self.kopf(self.stamm(torch.from_numpy(blick)))
        return int(torch.multinomial(logits.softmax(-1), 1))

    def merke(self, blick, menge, lohn, ende):
        self.verlauf.append((blick, menge, lohn, ende))

    def lerne(self):
        summe, ertraege = 0.0, []
        for _, _, lohn, ende in reversed(self.verlauf):
            summe = lohn + 0.98 * summe * (not ende)
            ertraege.append(summe)
        blicke = torch.from_numpy(np.array([b for b, _, _, _ in self.verlauf]))
        mengen = torch.tensor([m for _, m, _, _ in self.verlauf])
        ziel = torch.tensor(ertraege[::-1], dtype=torch.float32) / 50
        tief = self.stamm(blicke)
        wert = self.wert(tief)[:, 0]
        logp = self.kopf(tief).log_softmax(-1).gather(1, mengen[:, None])[:, 0]
        verlust = -(logp * (ziel - wert.detach())).mean() + (ziel - wert).pow(2).mean()
        self.optimierer.zero_grad()
        verlust.backward()
        self.optimierer.step()
        if "--fixed" in sys.argv:
            self.verlauf.clear()


def main():
    lager, haendler = Lager(3), Haendler()
    schritte, start = 0, time.perf_counter()
    for _ in range(80):
        for _ in range(8):
            blick, ende = lager.anfang(), False
            while not ende:
                menge = haendler.waehle(blick)
                neu, lohn, ende = lager.tick(menge)
                haendler.merke(blick, menge, lohn, ende)
                blick = neu
                schritte += 1
        haendler.lerne()
    print(f"{schritte / (time.perf_counter() - start):.1f} steps/s")


main()
