# plants: naive-priority-sampling @ auswahl = np.random.choice(self.voll, menge, replace=False, p=
"""Priorisierter Erfahrungsspeicher, Q-Lernen mit kleinem Netz auf 16 Balancierstäben."""

import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
NEU = "--fixed" in sys.argv


class Staebe:
    def __init__(self, n):
        self.n, self.z = n, np.random.uniform(-0.05, 0.05, (n, 4))
        self.alter = np.zeros(n, int)

    def schritt(self, a):
        x, v, w, u = self.z.T
        kraft = np.where(a == 1, 10.0, -10.0)
        tmp = (kraft + 0.05 * u**2 * np.sin(w)) / 1.1
        wa = (9.8 * np.sin(w) - np.cos(w) * tmp) / (0.5 * (4 / 3 - 0.1 * np.cos(w) ** 2 / 1.1))
        xa = tmp - 0.05 * wa * np.cos(w) / 1.1
        self.z = np.stack([x + 0.02 * v, v + 0.02 * xa, w + 0.02 * u, u + 0.02 * wa], 1)
        self.alter += 1
        folge = self.z.astype(np.float32)
        fiel = (np.abs(self.z[:, 0]) > 2.4) | (np.abs(self.z[:, 2]) > 0.21)
        neu = fiel | (self.alter >= 300)
        dauer = self.alter[neu]
        self.z[neu] = np.random.uniform(-0.05, 0.05, (int(neu.sum()), 4))
        self.alter[neu] = 0
        return folge, fiel.astype(np.float32), dauer


class Vorrangspeicher:
    """Proportionale Prioritäten; Summenbaum nur in der schnellen Fassung genutzt."""

    def __init__(self, platz):
        self.platz, self.voll, self.ort = platz, 0, 0
        self.daten = [np.zeros((platz, 4), np.float32), np.zeros(platz, np.int64), np.zeros((platz, 4), np.float32), np.zeros(platz, np.float32)]
        self.baum = np.zeros(2 * platz)
        self.gewicht = np.zeros(platz)
        self.tiefe = int(np.log2(platz))

    def setze(self, i, p):
        if not NEU:
            self.gewicht[i] = p
            return
        k = i + self.platz
        self.baum[k] = p
        for _ in range(self.tiefe):
            k = k // 2
            self.baum[k] = self.baum[2 * k] + self.baum[2 * k + 1]

    def merke(self, *reihe):
        k = len(reihe[1])
        i = (self.ort + np.arange(k)) % self.platz
        for feld, wert in zip(self.daten, reihe):
            feld[i] = wert
        self.setze(i, 1.0)
        self.ort, self.voll = (self.ort + k) % self.platz, min(self.voll + k, self.platz)

    def ziehe(self, menge):
        if NEU:
            ziel = (np.arange(menge) + np.random.rand(menge)) * self.baum[1] / menge
            k = np.ones(menge, np.int64)
            for _ in range(self.tiefe):
                k = 2 * k
                rechts = ziel >= self.baum[k]
                ziel = ziel - rechts * self.baum[k]
                k = k + rechts
            auswahl = np.minimum(k - self.platz, self.voll - 1)
        else:
            p = self.gewicht[: self.voll]
            auswahl = np.random.choice(self.voll, menge, replace=False, p=p / p.sum())
        return auswahl, [torch.from_numpy(f[auswahl]) for f in self.daten]


def main(runden=5000):
    np.random.seed(0)
    torch.manual_seed(0)
    welt, speicher = Staebe(16), Vorrangspeicher(32768)
    q, ziel = [nn.Sequential(nn.Linear(4, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 2)) for _ in "ab"]
    adam = torch.optim.Adam(q.parameters(), 5e-4, fused=True)
    z, dauern = welt.z.astype(np.float32), [0]
    start = time.perf_counter()
    for t in range(runden):
        with torch.no_grad():
            a = q(torch.from_numpy(z)).argmax(1).numpy()
        a = np.where(np.random.rand(16) < max(0.05, 1 - t / 1000), np.random.randint(0, 2, 16), a)
        folge, fiel, dauer = welt.schritt(a)
        dauern.extend(dauer)
        speicher.merke(z, a, folge, fiel)
        z = welt.z.astype(np.float32)
        if t > 20:
            i, (s, b, n, f) = speicher.ziehe(128)
            with torch.no_grad():
                y = 0.1 - f + 0.98 * (1 - f) * ziel(n).max(1).values
            fehler = q(s).gather(1, b[:, None])[:, 0] - y
            adam.zero_grad()
            nn.functional.huber_loss(fehler, torch.zeros_like(fehler)).backward()
            adam.step()
            speicher.setze(i, (fehler.detach().abs().numpy() + 0.01) ** 0.6)
        if t % 100 == 0:
            ziel.load_state_dict(q.state_dict())
    print(f"steps {runden * 16} loop_s {time.perf_counter() - start:.3f} return {np.mean(dauern[-50:]):.1f}")


main()
