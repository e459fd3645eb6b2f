# plants: host-transfers @ werte = roh.cpu().numpy()
"""PPO auf gekoppelten Schwingern; die Beobachtungen werden laufend normiert.

python messwerte.py [--seconds 10] [--fixed] [--truth DATEI]
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn
from truth import Loop

MERKMALE, STELLGROESSEN = 96, 8


class Schwinger:
    def __init__(self, anzahl: int, geraet: str) -> None:
        self.lage = torch.randn(anzahl, MERKMALE // 2, device=geraet)
        self.tempo = torch.zeros_like(self.lage)
        self.kopplung = torch.randn(STELLGROESSEN, MERKMALE // 2, device=geraet) * 0.2

    def messen(self) -> torch.Tensor:
        return torch.cat([5.0 * self.lage, self.tempo], 1)

    def schritt(self, kraft: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        zug = kraft.clamp(-1, 1) @ self.kopplung
        self.tempo = 0.98 * self.tempo + 0.05 * (zug - torch.sin(self.lage))
        self.lage = self.lage + 0.05 * self.tempo
        return self.messen(), -self.lage.square().mean(1)


class Normierung:
    """Laufender Mittelwert und laufende Varianz."""

    def __init__(self) -> None:
        self.mittel, self.varianz = np.zeros(MERKMALE), np.ones(MERKMALE)
        self.menge = 1e-4

    def __call__(self, roh: torch.Tensor) -> torch.Tensor:
        werte = roh.cpu().numpy()
        neu, menge = werte.mean(0), len(werte)
        summe = self.menge + menge
        abstand = neu - self.mittel
        self.varianz = (
            self.varianz * self.menge
            + werte.var(0) * menge
            + abstand**2 * self.menge * menge / summe
        ) / summe
        self.mittel = self.mittel + abstand * menge / summe
        self.menge = summe
        fertig = np.clip((werte - self.mittel) / np.sqrt(self.varianz + 1e-8), -10, 10)
        return torch.as_tensor(fertig, dtype=torch.float32).to(roh.device)


class NormierungAufKarte:
    def __init__(self, geraet: str) -> None:
        self.mittel = torch.zeros(MERKMALE, device=geraet)
        self.varianz = torch.ones(MERKMALE, device=geraet)
        self.menge = 1e-4

    def __call__(self, roh: torch.Tensor) -> torch.Tensor:
        streuung, neu = torch.var_mean(roh, 0, correction=0)
        summe = self.menge + len(roh)
        anteil = len(roh) / summe
        abstand = neu - self.mittel
        self.varianz = torch.lerp(self.varianz, streuung, anteil)
        self.varianz += abstand.square() * (anteil * (1 - anteil))
        self.mittel = self.mittel + abstand * anteil
        self.menge = summe
        return ((roh - self.mittel) * (self.varianz + 1e-8).rsqrt()).clamp(-10, 10)


def netz(ausgaenge: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Linear(MERKMALE, 256), nn.ELU(), nn.Linear(256, 128), nn.ELU(), nn.Linear(128, ausgaenge)
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--anzahl", type=int, default=4096)
    parser.add_argument("--dauer", type=int, default=24)
    wahl = parser.parse_args()
    torch.manual_seed(3)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    geraet, anzahl, dauer = wahl.device, wahl.anzahl, wahl.dauer
    welt = Schwinger(anzahl, geraet)
    norm = NormierungAufKarte(geraet) if wahl.fixed else Normierung()
    akteur, kritiker = netz(STELLGROESSEN).to(geraet), netz(1).to(geraet)
    gewichte = [*akteur.parameters(), *kritiker.parameters()]
    verfahren = torch.optim.Adam(gewichte, lr=3e-4, fused=True)
    t = torch.arange(dauer, device=geraet)
    ferne = t[None] - t[:, None]
    abschlag = torch.where(ferne >= 0, 0.99 ** ferne.clamp(min=0).float(), 0.0)
    gesehen = torch.zeros(dauer, anzahl, MERKMALE, device=geraet)
    getan = torch.zeros(dauer, anzahl, STELLGROESSEN, device=geraet)
    lohn = torch.zeros(dauer, anzahl, device=geraet)
    loop = Loop(wahl)
    sicht = norm(welt.messen())
    for _ in loop:
        for i in range(dauer):
            with torch.no_grad(), loop.span("policy.act"):
                mitte = akteur(sicht)
                kraft = mitte + 0.3 * torch.randn_like(mitte)
            gesehen[i], getan[i] = sicht, kraft
            with loop.span("env.step"):
                roh, lohn[i] = welt.schritt(kraft)
            sicht = norm(roh)
        with torch.no_grad(), loop.span("advantage"):
            alt = (getan - akteur(gesehen)).square().sum(-1).flatten() / 0.18
            ziel = (abschlag @ lohn).flatten()
        sichten, taten = gesehen.flatten(0, 1), getan.flatten(0, 1)
        for teil in torch.randperm(dauer * anzahl, device=geraet).chunk(4):
            s = sichten[teil]
            wert = kritiker(s).squeeze(-1)
            vorteil = (ziel[teil] - wert).detach()
            vorteil = (vorteil - vorteil.mean()) / (vorteil.std() + 1e-6)
            neu = (taten[teil] - akteur(s)).square().sum(-1) / 0.18
            faktor = torch.exp(alt[teil] - neu)
            gewinn = torch.minimum(faktor * vorteil, faktor.clamp(0.8, 1.2) * vorteil)
            verlust = (wert - ziel[teil]).square().mean() - gewinn.mean()
            verfahren.zero_grad()
            with loop.span("learn.backward"):
                verlust.backward()
            with loop.span("learn.optimizer"):
                verfahren.step()
    loop.finish(anzahl * dauer)


if __name__ == "__main__":
    main()
