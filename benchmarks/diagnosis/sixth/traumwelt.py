# plants: nothing
"""Gesund: Lernen in der Vorstellung; jeder Traumschritt braucht die Aktion des vorigen."""

import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
BREITE, TRAEUME, WEITE = 160, 512, 12
zelle, folge = nn.GRUCell(2, BREITE), nn.GRU(2, BREITE)
for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh"):
    setattr(zelle, name, getattr(folge, name + "_l0"))
sicht, lohn = nn.Linear(BREITE, 3), nn.Linear(BREITE, 1)
akteur = nn.Sequential(nn.Linear(BREITE, 128), nn.ELU(), nn.Linear(128, 2), nn.Tanh())
modell = [*zelle.parameters(), *sicht.parameters(), *lohn.parameters()]
opt_m = torch.optim.Adam(modell, 1e-3, fused=True)
opt_a = torch.optim.Adam(akteur.parameters(), 3e-4, fused=True)


def welt(ort, aktion):
    ort = (0.95 * ort + 0.2 * torch.cat([aktion, aktion[:, :1] * aktion[:, 1:]], 1)).clamp(-2, 2)
    return ort, -(ort - 0.5).square().mean(1, keepdim=True)


start = time.perf_counter()
RUNDEN = 60
for runde in range(RUNDEN):
    with torch.no_grad():
        ort, h = torch.zeros(TRAEUME, 3), torch.zeros(TRAEUME, BREITE)
        orte, taten, loehne = [], [], []
        for _ in range(WEITE):
            tat = (akteur(h) + 0.3 * torch.randn(TRAEUME, 2)).clamp(-1, 1)
            h = zelle(tat, h)
            ort, r = welt(ort, tat)
            orte.append(ort), taten.append(tat), loehne.append(r)
    alle, _ = folge(torch.stack(taten))
    verlust = (sicht(alle) - torch.stack(orte)).square().mean() + (lohn(alle) - torch.stack(loehne)).square().mean()
    opt_m.zero_grad()
    verlust.backward()
    opt_m.step()
    h, ertrag = alle[WEITE // 2].detach(), 0.0
    for p in modell:
        p.requires_grad_(False)
    for k in range(WEITE):
        h = zelle(akteur(h), h)
        ertrag = ertrag + 0.97**k * lohn(h).mean()
    opt_a.zero_grad()
    (-ertrag).backward()
    opt_a.step()
    for p in modell:
        p.requires_grad_(True)
dauer = time.perf_counter() - start
print(f"steps {RUNDEN * WEITE * TRAEUME} loop_s {dauer:.3f} return {torch.stack(loehne).mean():.4f}")
