# plants: unbatched-policy @ logits, wert = self.netz(torch.as_tensor(sicht).unsqueeze(0))
"""Zwölf Hunde treiben Schafe: PettingZoo (parallel), ein gemeinsames Netz, A2C."""

import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from gymnasium import spaces
from pettingzoo import ParallelEnv
from torch import nn

HUNDE = 12


class Pferch(ParallelEnv):
    metadata = {"name": "pferch_v0"}

    def __init__(self):
        self.possible_agents = [f"hund_{i}" for i in range(HUNDE)]
        self.zufall = np.random.default_rng(4)

    def observation_space(self, agent):
        return spaces.Box(-10, 10, (8,), np.float32)

    def action_space(self, agent):
        return spaces.Discrete(5)

    def reset(self, seed=None, options=None):
        self.agents = list(self.possible_agents)
        self.hunde = self.zufall.uniform(-4, 4, (HUNDE, 2))
        self.schafe = self.zufall.uniform(-3, 3, (6, 2))
        self.zeit = 0
        return self._sichten(), {a: {} for a in self.agents}

    def _sichten(self):
        abstand = self.schafe[None] - self.hunde[:, None]
        naechstes = np.abs(abstand).sum(-1).argmin(1)
        nah = abstand[np.arange(HUNDE), naechstes]
        mitte = np.broadcast_to(self.schafe.mean(0), (HUNDE, 2))
        alle = np.concatenate([self.hunde, nah, mitte, mitte - self.hunde], 1).astype(np.float32)
        return dict(zip(self.agents, alle))

    def step(self, actions):
        zuege = np.array([(0, 0), (0.2, 0), (-0.2, 0), (0, 0.2), (0, -0.2)])
        self.hunde = np.clip(self.hunde + zuege[[actions[a] for a in self.agents]], -5, 5)
        weg = self.schafe[:, None] - self.hunde[None]
        kraft = weg / (0.5 + (weg**2).sum(-1, keepdims=True))
        self.schafe = np.clip(self.schafe + 0.1 * kraft.mean(1), -5, 5)
        self.zeit += 1
        lohn = -float(np.linalg.norm(self.schafe, axis=1).mean())
        ende = self.zeit >= 80
        sichten = self._sichten()
        wahr = dict.fromkeys(self.agents, ende)
        return sichten, dict.fromkeys(self.agents, lohn), wahr, wahr, {a: {} for a in self.agents}


class Meute(nn.Module):
    def __init__(self):
        super().__init__()
        self.rumpf = nn.Sequential(nn.Linear(8, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.zug, self.wert = nn.Linear(64, 5), nn.Linear(64, 1)

    def forward(self, x):
        h = self.rumpf(x)
        return self.zug(h), self.wert(h).squeeze(-1)


class Lehrer:
    def __init__(self, gemeinsam):
        self.gemeinsam, self.netz = gemeinsam, Meute()
        self.adam = torch.optim.Adam(self.netz.parameters(), lr=7e-4, fused=True)

    @torch.no_grad()
    def waehle(self, sichten):
        if self.gemeinsam:
            logits, _ = self.netz(torch.as_tensor(np.stack(list(sichten.values()))))
            zuege = torch.multinomial(logits.softmax(-1), 1).squeeze(1).tolist()
            return dict(zip(sichten, zuege))
        zuege = {}
        for hund, sicht in sichten.items():
            logits, wert = self.netz(torch.as_tensor(sicht).unsqueeze(0))
            zuege[hund] = int(torch.multinomial(logits.softmax(-1), 1))
        return zuege

    def lerne(self, sichten, zuege, ertrag):
        logits, wert = self.netz(torch.as_tensor(np.stack(sichten)))
        vorteil = torch.as_tensor(ertrag) - wert
        wahl = logits.log_softmax(-1).gather(1, torch.as_tensor(zuege)[:, None]).squeeze(1)
        verlust = F.mse_loss(wert, torch.as_tensor(ertrag)) - (wahl * vorteil.detach()).mean()
        self.adam.zero_grad()
        verlust.backward()
        self.adam.step()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--episoden", type=int, default=60)
    a = p.parse_args()
    torch.set_num_threads(1)
    pferch, lehrer = Pferch(), Lehrer(a.fixed)
    anfang = time.process_time()
    for episode in range(a.episoden):
        sichten, _ = pferch.reset()
        S, Z, L, ende = [], [], [], False
        while not ende:
            zuege = lehrer.waehle(sichten)
            S.extend(sichten.values())
            Z.extend(zuege.values())
            sichten, lohn, fertig, _, _ = pferch.step(zuege)
            L.append(lohn["hund_0"])
            ende = fertig["hund_0"]
        ertrag, g = np.zeros(len(L), np.float32), 0.0
        for t in range(len(L) - 1, -1, -1):
            g = L[t] + 0.95 * g
            ertrag[t] = g / 20
        lehrer.lerne(S, Z, np.repeat(ertrag, HUNDE))
        if episode % 20 == 0:
            print("Episode", episode, "Lohn", round(sum(L), 1))
    print(f"cpu {time.process_time() - anfang:.2f} work {a.episoden * 80}")


main()
