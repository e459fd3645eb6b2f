# plants: stepwise-recurrence @ h = self.zelle(e[t]
# plants: naive-priority-sampling @ np.random.choice(
"""R2D2 im Kleinen: die Zelle läuft Schritt für Schritt (größer), Prioritäten mit choice
(kleiner).
"""

import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
F1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
F2 = "--fixed" in sys.argv or "--fixed2" in sys.argv
LAENGE, SPEICHER = 48, 20000


class Netz(nn.Module):
    def __init__(self):
        super().__init__()
        self.ein, self.aus = nn.Linear(3, 48), nn.Linear(48, 2)
        self.zelle, self.folge = nn.GRUCell(48, 48), nn.GRU(48, 48)

    def schritt(self, x, h):
        h = self.zelle(torch.relu(self.ein(x)), h)
        return self.aus(h), h

    def alle(self, x):
        """x: (Zeit, Menge, 3)"""
        e = torch.relu(self.ein(x))
        if F1:
            return self.aus(self.folge(e)[0])
        h, werte = torch.zeros(x.shape[1], 48), []
        for t in range(len(e)):
            h = self.zelle(e[t], h)
            werte.append(self.aus(h))
        return torch.stack(werte)


class Merkspiel:
    """Ein Zeichen am Anfang, die Frage am Ende."""

    def neu(self):
        self.zeichen, self.t = np.random.randint(2), 0
        return np.array([self.zeichen * 2 - 1, 0, 0], np.float32)

    def zug(self, a):
        self.t += 1
        frage = self.t == LAENGE - 1
        ende = self.t == LAENGE
        return (
            np.array([0, frage, self.t / LAENGE], np.float32),
            float(ende and a == self.zeichen),
            ende,
        )


def main():
    netz, ziel = Netz(), Netz()
    optimierer = torch.optim.Adam(netz.parameters(), 1e-3, fused=True)
    xs = np.zeros((SPEICHER, LAENGE, 3), np.float32)
    zuege, loehne = np.zeros((SPEICHER, LAENGE), np.int64), np.zeros((SPEICHER, LAENGE), np.float32)
    gewicht = np.zeros(SPEICHER)
    spiel, schritte, n, start = Merkspiel(), 0, 0, time.perf_counter()
    while time.perf_counter() - start < 9:
        x, h, ende = spiel.neu(), torch.zeros(1, 48), False
        i, t = n % SPEICHER, 0
        while not ende:
            with torch.no_grad():
                q, h = netz.schritt(torch.from_numpy(x)[None], h)
            a = int(q.argmax()) if np.random.random() > 0.1 else np.random.randint(2)
            xs[i, t], zuege[i, t] = x, a
            x, loehne[i, t], ende = spiel.zug(a)
            t += 1
            schritte += 1
        n += 1
        gewicht[i] = gewicht.max() or 1.0
        for _ in range(2):
            if F2:
                summe = gewicht.cumsum()
                wahl = np.searchsorted(summe, np.random.random(32) * summe[-1])
            else:
                wahl = np.random.choice(SPEICHER, 32, p=gewicht / gewicht.sum(), replace=n < 64)
            stapel = torch.from_numpy(xs[wahl]).transpose(0, 1)
            q = netz.alle(stapel).gather(2, torch.from_numpy(zuege[wahl]).T[..., None])[..., 0]
            with torch.no_grad():
                folge = ziel.alle(stapel).max(2).values
            soll = torch.from_numpy(loehne[wahl]).T.clone()
            soll[:-1] += 0.97 * folge[1:]
            fehler = (soll - q).abs()
            optimierer.zero_grad()
            fehler.pow(2).mean().backward()
            optimierer.step()
            gewicht[wahl] = fehler.detach().mean(0).numpy() + 1e-3
        if n % 50 == 0:
            ziel.load_state_dict(netz.state_dict())
    print(f"{schritte / (time.perf_counter() - start):.1f} steps/s")


main()
