# plants: checkpointing @ torch.save(
"""Aufzugsteuerung mit DQN; alles wird oft gesichert. (checkpointing)"""

import os
import sys
import tempfile
import time
from collections import deque

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
ABSTAND = 20000 if "--fixed" in sys.argv else 100
ORDNER = tempfile.mkdtemp()


def neuer_turm(rng):
    return {"kabine": 0, "ruf": (rng.random(10) < 0.2).astype(np.float32), "uhr": 0}


def sicht(turm):
    v = np.zeros(21, np.float32)
    v[turm["kabine"]] = 1
    v[10:20] = turm["ruf"]
    v[20] = turm["uhr"] / 200
    return v


def fahre(turm, befehl, rng):
    turm["uhr"] += 1
    lohn = -0.05 * float(turm["ruf"].sum())
    if befehl == 2:
        lohn += float(turm["ruf"][turm["kabine"]])
        turm["ruf"][turm["kabine"]] = 0
    else:
        turm["kabine"] = int(np.clip(turm["kabine"] + 2 * befehl - 1, 0, 9))
    if rng.random() < 0.1:
        turm["ruf"][rng.integers(10)] = 1
    return lohn, turm["uhr"] >= 200


def sichere(netz, opt, speicher, nummer):
    pfad = os.path.join(ORDNER, f"stand{nummer % 3}.pt")
    torch.save(
        {"netz": netz.state_dict(), "opt": opt.state_dict(), "speicher": list(speicher)}, pfad
    )


def lerne(netz, opt, speicher, rng):
    wahl = rng.integers(0, len(speicher), 32)
    a, b, c, d = zip(*[speicher[i] for i in wahl])
    a, d = torch.from_numpy(np.stack(a)), torch.from_numpy(np.stack(d))
    b, c = torch.tensor(b), torch.tensor(c)
    with torch.no_grad():
        ziel = c + 0.97 * netz(d).max(1).values
    fehler = (netz(a).gather(1, b[:, None])[:, 0] - ziel).abs().mean()
    opt.zero_grad()
    fehler.backward()
    opt.step()


def haupt():
    rng = np.random.default_rng(0)
    netz = nn.Sequential(nn.Linear(21, 64), nn.ReLU(), nn.Linear(64, 3))
    opt = torch.optim.Adam(netz.parameters(), 5e-4)
    speicher = deque(maxlen=1500)
    turm, n = neuer_turm(rng), 0
    start = time.perf_counter()
    while time.perf_counter() - start < 8:
        s = sicht(turm)
        if rng.random() < 0.1:
            befehl = int(rng.integers(3))
        else:
            with torch.no_grad():
                befehl = int(netz(torch.from_numpy(s)).argmax())
        lohn, ende = fahre(turm, befehl, rng)
        speicher.append((s, befehl, lohn, sicht(turm)))
        if ende:
            turm = neuer_turm(rng)
        n += 1
        if n > 100 and n % 4 == 0:
            lerne(netz, opt, speicher, rng)
        if n % ABSTAND == 0:
            sichere(netz, opt, speicher, n // ABSTAND)
    print(f"{n / (time.perf_counter() - start):.1f} steps/s")


haupt()
