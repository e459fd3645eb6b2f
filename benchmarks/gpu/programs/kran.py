# plants: nothing
"""PPO für Kräne: Die Simulation rechnet auf dem Rechner, die großen Netze auf der Karte.

python kran.py [--seconds 10] [--truth DATEI]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from truth import Loop

SEILE, MOTOREN, STREUUNG = 16, 4, 0.5
BLICK = 2 * SEILE + MOTOREN


class Kraene:
    """Viele Kräne mit pendelnden Lasten, als Felder gerechnet."""

    def __init__(self, anzahl: int) -> None:
        zufall = np.random.default_rng(10)
        self.winkel = zufall.normal(0, 0.3, (anzahl, SEILE)).astype(np.float32)
        self.tempo = np.zeros_like(self.winkel)
        self.motor = np.zeros((anzahl, MOTOREN), np.float32)
        self.hebel = zufall.normal(0, 0.5, (MOTOREN, SEILE)).astype(np.float32)

    def blick(self) -> np.ndarray:
        return np.concatenate([self.winkel, self.tempo, self.motor], 1)

    def step(self, stellung: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        self.motor += np.float32(0.2) * (np.clip(stellung, -1, 1) - self.motor)
        self.tempo *= np.float32(0.99)
        self.tempo += np.float32(0.05) * (self.motor @ self.hebel - np.sin(self.winkel))
        self.winkel += np.float32(0.05) * self.tempo
        return self.blick(), -np.square(self.winkel).mean(1)


def turm(breite: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(BLICK, breite),
        nn.ReLU(inplace=True),
        nn.Linear(breite, breite),
        nn.ReLU(inplace=True),
        nn.Linear(breite, breite),
        nn.ReLU(inplace=True),
        nn.Linear(breite, MOTOREN + 1),
    )


def dichte(mitte: torch.Tensor, tat: torch.Tensor) -> torch.Tensor:
    return -0.5 * ((tat - mitte) / STREUUNG).square().sum(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--anzahl", type=int, default=1024)
    parser.add_argument("--dauer", type=int, default=16)
    parser.add_argument("--breite", type=int, default=6144)
    parser.add_argument("--runden", type=int, default=6)
    wahl = parser.parse_args()
    torch.manual_seed(10)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    geraet, anzahl, dauer = wahl.device, wahl.anzahl, wahl.dauer
    halb = {"device_type": geraet.split(":")[0], "dtype": torch.bfloat16}
    welt, netz = Kraene(anzahl), turm(wahl.breite).to(geraet)
    adam = torch.optim.Adam(netz.parameters(), lr=1e-4, fused=True)
    t = torch.arange(dauer, device=geraet)
    ferne = t[None] - t[:, None]
    abschlag = torch.where(ferne >= 0, 0.97 ** ferne.clamp(min=0).float(), 0.0)
    gesehen = torch.zeros(dauer, anzahl, BLICK, device=geraet)
    getan = torch.zeros(dauer, anzahl, MOTOREN, device=geraet)
    alt, wert = torch.zeros(2, dauer, anzahl, device=geraet)
    lohn, verlauf = np.zeros((dauer, anzahl), np.float32), []
    sicht = welt.blick()
    loop = Loop(wahl)
    for _ in loop:
        for i in range(dauer):
            with torch.no_grad(), torch.autocast(**halb), loop.span("policy.act"):
                gesehen[i] = torch.from_numpy(sicht).to(geraet)
                aus = netz(gesehen[i]).float()
                getan[i] = aus[:, :MOTOREN] + STREUUNG * torch.randn_like(aus[:, :MOTOREN])
                alt[i], wert[i] = dichte(aus[:, :MOTOREN], getan[i]), aus[:, MOTOREN]
                stellung = getan[i].cpu().numpy()
            with loop.span("env.step"):
                sicht, lohn[i] = welt.step(stellung)
        ziel = abschlag @ torch.from_numpy(lohn).to(geraet)
        vorteil = ziel - wert
        vorteil = (vorteil - vorteil.mean()) / (vorteil.std() + 1e-6)
        felder = [x.flatten(0, 1) for x in (gesehen, getan, alt, vorteil, ziel)]
        for _ in range(wahl.runden):
            for teil in torch.randperm(anzahl * dauer, device=geraet).chunk(2):
                s, a, d, v, z = (feld[teil] for feld in felder)
                with torch.autocast(**halb), loop.span("learn.forward"):
                    aus = netz(s).float()
                    faktor = torch.exp(dichte(aus[:, :MOTOREN], a) - d)
                    gewinn = torch.minimum(faktor * v, faktor.clamp(0.8, 1.2) * v)
                    verlust = (aus[:, MOTOREN] - z).square().mean() - gewinn.mean()
                adam.zero_grad()
                with loop.span("learn.backward"):
                    verlust.backward()
                with loop.span("learn.optimizer"):
                    adam.step()
        verlauf.append((verlust.item(), float(lohn.mean())))
    print(f"Lohn zuletzt {verlauf[-1][1]:.3f}")
    loop.finish(anzahl * dauer)


if __name__ == "__main__":
    main()
