# plants: list-to-tensor @ zustand = torch.tensor([e[0] for e in probe])
"""Double-DQN für Lagerbestellungen eines Ladens, Zustand: Verkäufe der letzten Tage."""

import random
import sys
import time
from collections import deque, namedtuple

import numpy as np
import torch
import torch.nn.functional as F

torch.set_num_threads(1)
RICHTIG = "--fixed" in sys.argv
TAGE, WAREN = 14, 5
Erlebnis = namedtuple("Erlebnis", "zustand aktion lohn folge ende")


class Laden:
    def __init__(self, saat):
        self.rng = np.random.default_rng(saat)

    def oeffnen(self):
        self.bestand = np.full(WAREN, 20.0)
        self.verlauf = np.zeros((TAGE, WAREN), np.float32)
        self.tag = 0
        return self._blick()

    def _blick(self):
        return np.append(self.verlauf.ravel(), self.bestand / 40).astype(np.float32)

    def bestellen(self, aktion):
        ware, menge = divmod(aktion, 3)
        self.bestand[ware] += 10 * menge
        bedarf = self.rng.poisson(4 + 2 * np.sin(self.tag / 7 + np.arange(WAREN)))
        verkauf = np.minimum(bedarf, self.bestand)
        self.bestand = np.minimum(self.bestand - verkauf, 60)
        self.verlauf[:-1] = self.verlauf[1:]
        self.verlauf[-1] = verkauf / 10
        self.tag += 1
        gewinn = verkauf.sum() - 0.05 * self.bestand.sum() - 3 * menge
        return self._blick(), float(gewinn) / 10, self.tag >= 100


def netz():
    return torch.nn.Sequential(
        torch.nn.Linear(TAGE * WAREN + WAREN, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 128),
        torch.nn.ReLU(),
        torch.nn.Linear(128, 3 * WAREN),
    )


def stapeln(probe):
    if RICHTIG:
        z, a, l, f, e = zip(*probe)
        return (
            torch.from_numpy(np.stack(z)),
            torch.tensor(a),
            torch.tensor(l),
            torch.from_numpy(np.stack(f)),
            torch.tensor(e),
        )
    zustand = torch.tensor([e[0] for e in probe])
    aktion = torch.tensor([e[1] for e in probe])
    lohn = torch.tensor([e[2] for e in probe])
    folge = torch.tensor([e[3] for e in probe])
    ende = torch.tensor([e[4] for e in probe])
    return zustand, aktion, lohn, folge, ende


random.seed(1)
torch.manual_seed(1)
laden, q, q_alt = Laden(0), netz(), netz()
q_alt.load_state_dict(q.state_dict())
adam = torch.optim.Adam(q.parameters(), 3e-4, fused=True)
gedaechtnis = deque(maxlen=5000)
zustand, gewinn, letzte = laden.oeffnen(), 0.0, []
SCHRITTE = 2000
beginn = time.perf_counter()
for schritt in range(SCHRITTE):
    if random.random() < 0.1:
        aktion = random.randrange(3 * WAREN)
    else:
        with torch.no_grad():
            aktion = q(torch.from_numpy(zustand)).argmax().item()
    folge, lohn, ende = laden.bestellen(aktion)
    gedaechtnis.append(Erlebnis(zustand, aktion, lohn, folge, float(ende)))
    zustand, gewinn = folge, gewinn + lohn
    if ende:
        letzte.append(gewinn)
        zustand, gewinn = laden.oeffnen(), 0.0
    if len(gedaechtnis) >= 128:
        z, a, l, f, e = stapeln(random.sample(gedaechtnis, 128))
        with torch.no_grad():
            beste = q(f).argmax(1, keepdim=True)
            ziel = l + 0.98 * (1 - e) * q_alt(f).gather(1, beste)[:, 0]
        verlust = F.smooth_l1_loss(q(z).gather(1, a[:, None])[:, 0], ziel)
        adam.zero_grad()
        verlust.backward()
        adam.step()
    if schritt % 200 == 0:
        q_alt.load_state_dict(q.state_dict())
dauer = time.perf_counter() - beginn
print(f"steps {SCHRITTE} loop_s {dauer:.3f} return {np.mean(letzte[-10:]):.2f}")
