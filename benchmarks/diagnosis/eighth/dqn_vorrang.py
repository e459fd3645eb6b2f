# plants: naive-priority-sampling @ gezogen = ziehe(vorrang, STAPEL)
"""DQN mit Vorrang: der Speicher ist eine schlichte Liste von Tupeln, der Vorrang eine zweite."""

import argparse
import random
import time

import gymnasium as gym
import numpy as np
import torch
from torch import nn

STAPEL = 64
GROESSE = 20_000
ALPHA = 0.6


def lies_argumente():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true", help="Summen einmal je Zug statt je Stichprobe")
    p.add_argument("--schritte", type=int, default=3000)
    return p.parse_args()


def ziehe(gewichte, anzahl):
    """Zieht Plaetze mit einer Wahrscheinlichkeit, die ihrem Vorrang entspricht."""
    plaetze = []
    gesamt = sum(g**ALPHA for g in gewichte)
    for _ in range(anzahl):
        rest = random.random() * gesamt
        for platz, g in enumerate(gewichte):
            rest -= g**ALPHA
            if rest <= 0:
                break
        plaetze.append(platz)
    return plaetze


def ziehe_schnell(gewichte, anzahl):
    summen = np.cumsum(np.asarray(gewichte) ** ALPHA)
    return np.searchsorted(summen, np.random.random(anzahl) * summen[-1]).tolist()


def main():
    arg = lies_argumente()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    random.seed(1)
    welt = gym.make("CartPole-v1")
    q = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
    ziel = nn.Sequential(nn.Linear(4, 128), nn.ReLU(), nn.Linear(128, 2))
    ziel.load_state_dict(q.state_dict())
    adam = torch.optim.Adam(q.parameters(), lr=5e-4, fused=True)
    erlebt, vorrang = [], []
    s, _ = welt.reset(seed=1)
    beginn = time.process_time()
    for n in range(arg.schritte):
        if random.random() < max(0.05, 1 - n / 1500):
            a = welt.action_space.sample()
        else:
            with torch.no_grad():
                a = int(q(torch.from_numpy(s)).argmax())
        s2, lohn, fertig, abgebrochen, _ = welt.step(a)
        if len(erlebt) == GROESSE:
            erlebt.pop(0), vorrang.pop(0)
        erlebt.append((s, a, lohn, s2, float(fertig)))
        vorrang.append(max(vorrang[-50:], default=1.0))
        s = welt.reset()[0] if fertig or abgebrochen else s2
        if n < 500 or n % 4:
            continue
        if arg.fixed:
            gezogen = ziehe_schnell(vorrang, STAPEL)
        else:
            gezogen = ziehe(vorrang, STAPEL)
        S, A, R, S2, F = zip(*(erlebt[i] for i in gezogen))
        S, S2 = torch.from_numpy(np.stack(S)), torch.from_numpy(np.stack(S2))
        A, R, F = torch.tensor(A), torch.tensor(R), torch.tensor(F)
        with torch.no_grad():
            y = R + 0.99 * (1 - F) * ziel(S2).max(1).values
        fehler = y - q(S).gather(1, A[:, None]).squeeze(1)
        verlust = fehler.pow(2).mean()
        adam.zero_grad()
        verlust.backward()
        adam.step()
        for i, e in zip(gezogen, fehler.detach().abs().tolist()):
            vorrang[i] = e + 1e-3
        if n % 400 == 0:
            ziel.load_state_dict(q.state_dict())
            print(f"Schritt {n}, Verlust {verlust.item():.4f}")
    print(f"cpu {time.process_time() - beginn:.2f} work {arg.schritte}")


if __name__ == "__main__":
    main()
