# plants: few-envs-per-runner @ JE_LAEUFER =
"""Zwei Läuferprozesse sammeln mit eigener Kopie der Strategie; je Läufer eine Umgebung."""

import multiprocessing as mp
import sys
import time

import numpy as np
import torch
from torch import nn

JE_LAEUFER = 24 if "--fixed" in sys.argv else 1
LAENGE = 32


def netz():
    return nn.Sequential(
        nn.Linear(8, 128), nn.Tanh(), nn.Linear(128, 128), nn.Tanh(), nn.Linear(128, 4 + 1)
    )


class Boote:
    """Mehrere Segelboote im selben Wind, als Felder geführt."""

    def __init__(self, anzahl, saat):
        self.n, self.zufall = anzahl, np.random.default_rng(saat)
        self.lage = self.zufall.normal(0, 1, (anzahl, 2))
        self.fahrt = np.zeros((anzahl, 2))
        self.boje = self.zufall.normal(0, 3, (anzahl, 2))
        self.wind = np.array([1.0, 0.0])

    def blick(self):
        wind = np.broadcast_to(self.wind, (self.n, 2))
        return np.concatenate([self.lage, self.fahrt, self.boje - self.lage, wind], 1).astype(
            np.float32
        )

    def fahren(self, ruder):
        winkel = ruder * (np.pi / 2)
        schub = np.stack([np.cos(winkel), np.sin(winkel)], 1)
        self.fahrt = 0.9 * self.fahrt + 0.1 * schub * (1.2 + schub @ self.wind)[:, None]
        self.lage = self.lage + 0.1 * self.fahrt
        abstand = np.linalg.norm(self.boje - self.lage, axis=1)
        da = abstand < 0.3
        self.boje[da] = self.zufall.normal(0, 3, (int(da.sum()), 2))
        return self.blick(), (da - 0.01 * abstand).astype(np.float32)


def laeufer(leitung, saat):
    torch.set_num_threads(1)
    modell, boote = netz(), Boote(JE_LAEUFER, saat)
    blick = boote.blick()
    while True:
        gewichte = leitung.recv()
        if gewichte is None:
            return
        modell.load_state_dict({k: torch.from_numpy(v) for k, v in gewichte.items()})
        blicke, ruder, loehne = [], [], []
        for _ in range(LAENGE * 8):
            with torch.no_grad():
                kopf = modell(torch.from_numpy(blick))[:, :4]
            wahl = torch.multinomial(kopf.softmax(-1), 1)[:, 0].numpy()
            blicke.append(blick)
            ruder.append(wahl)
            blick, lohn = boote.fahren(wahl)
            loehne.append(lohn)
        leitung.send((np.stack(blicke), np.stack(ruder), np.stack(loehne)))


def main():
    torch.set_num_threads(1)
    modell = netz()
    optimierer = torch.optim.Adam(modell.parameters(), 3e-4, fused=True)
    enden = []
    for saat in range(2):
        hier, dort = mp.Pipe()
        mp.Process(target=laeufer, args=(dort, saat), daemon=True).start()
        enden.append(hier)
    schritte, start = 0, time.perf_counter()
    while time.perf_counter() - start < 8:
        gewichte = {k: v.numpy() for k, v in modell.state_dict().items()}
        for ende in enden:
            ende.send(gewichte)
        teile = [ende.recv() for ende in enden]
        blicke, ruder, loehne = (
            torch.from_numpy(np.concatenate(t, 1)) for t in zip(*teile, strict=True)
        )
        ertrag, summe = torch.zeros_like(loehne), torch.zeros(loehne.shape[1])
        for t in reversed(range(len(loehne))):
            summe = loehne[t] + 0.97 * summe
            ertrag[t] = summe
        aus = modell(blicke.flatten(0, 1))
        vorteil = ertrag.flatten() - aus[:, 4]
        logp = aus[:, :4].log_softmax(-1).gather(1, ruder.flatten()[:, None])[:, 0]
        verlust = -(logp * vorteil.detach()).mean() + vorteil.pow(2).mean()
        optimierer.zero_grad()
        verlust.backward()
        optimierer.step()
        schritte += loehne.numel()
    print(f"{schritte / (time.perf_counter() - start):.1f} steps/s")
    for ende in enden:
        ende.send(None)


if __name__ == "__main__":
    main()
