# plants: nothing
"""Healthy: Verhaltensklonen aus einem grossen Tensor, Indizes auf einmal gemischt."""

import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


def vorfuehrungen(n=60000):
    lage = torch.randn(n, 40)
    tat = torch.tanh(lage[:, :8] * 0.7 - lage[:, 8:16] * 0.2)
    return lage, tat


def stapel(lage, tat, groesse=512):
    reihenfolge = torch.randperm(len(lage))
    for teil in reihenfolge.split(groesse):
        yield lage[teil], tat[teil]


def klone(dauer=8.0):
    lage, tat = vorfuehrungen()
    schueler = nn.Sequential(
        nn.Linear(40, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 8)
    )
    schritt = torch.optim.Adam(schueler.parameters(), 3e-4, fused=True)
    zahl, beginn = 0, time.perf_counter()
    while time.perf_counter() - beginn < dauer:
        for x, y in stapel(lage, tat):
            fehler = nn.functional.mse_loss(torch.tanh(schueler(x)), y)
            schritt.zero_grad(set_to_none=True)
            fehler.backward()
            schritt.step()
            zahl += 1
    print(f"{zahl / (time.perf_counter() - beginn):.1f} steps/s")


klone()
