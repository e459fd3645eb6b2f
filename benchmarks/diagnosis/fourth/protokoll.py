# plants: logging @ protokoll.debug(
"""Lagerhaus: ein Agent raeumt Pakete um, tabellarisches Lernen. (logging)"""

import logging
import sys
import time

import numpy as np

SCHNELL = "--fixed" in sys.argv
protokoll = logging.getLogger("lager")
logging.basicConfig(level=logging.INFO)


class Lagerhaus:
    def __init__(self, breite=24, keim=0):
        self.breite = breite
        self.zufall = np.random.default_rng(keim)
        self.regale = self.zufall.integers(0, 9, (breite, breite))
        self.anfang()

    def anfang(self):
        self.ort = [int(v) for v in self.zufall.integers(0, self.breite, 2)]
        self.ziel = [int(v) for v in self.zufall.integers(0, self.breite, 2)]
        self.takt = 0
        return self.lage()

    def lage(self):
        dx = int(np.sign(self.ziel[0] - self.ort[0])) + 1
        dy = int(np.sign(self.ziel[1] - self.ort[1])) + 1
        voll = int(self.regale[self.ort[0], self.ort[1]] > 4)
        return (dx * 3 + dy) * 2 + voll

    def bewege(self, richtung):
        achse, schritt = divmod(richtung, 2)
        self.ort[achse] = min(max(self.ort[achse] + 2 * schritt - 1, 0), self.breite - 1)
        self.takt += 1
        x, y = self.ort
        if self.regale[x, y] > 4:
            self.regale[x, y] -= 1
        if not SCHNELL:
            protokoll.debug("Takt %d Ort %s Regal %s" % (self.takt, self.ort, self.regale[x, :6]))
        fertig = self.ort == self.ziel
        lohn = 1.0 if fertig else -0.01
        return self.lage(), lohn, fertig or self.takt >= 120


class Lerner:
    def __init__(self, keim=1):
        self.werte = np.zeros((18, 4))
        self.zufall = np.random.default_rng(keim)

    def waehle(self, lage):
        if self.zufall.random() < 0.1:
            return int(self.zufall.integers(4))
        return int(np.argmax(self.werte[lage]))

    def lerne(self, lage, tat, lohn, danach, ende):
        ziel = lohn if ende else lohn + 0.97 * self.werte[danach].max()
        self.werte[lage, tat] += 0.1 * (ziel - self.werte[lage, tat])


def training(dauer=7.0):
    haus, lerner = Lagerhaus(), Lerner()
    lage, schritte = haus.anfang(), 0
    beginn = time.perf_counter()
    while time.perf_counter() - beginn < dauer:
        tat = lerner.waehle(lage)
        danach, lohn, ende = haus.bewege(tat)
        lerner.lerne(lage, tat, lohn, danach, ende)
        lage = haus.anfang() if ende else danach
        schritte += 1
    print(f"{schritte / (time.perf_counter() - beginn):.1f} steps/s")


if __name__ == "__main__":
    training()
