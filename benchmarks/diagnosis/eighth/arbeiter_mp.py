# plants: unbatched-policy @ logits, wert = netz(torch.from_numpy(sicht)[None])
# plants: logging @ protokoll.schreibe(schritt, nummer, sicht, zug, lohn)
"""A2C mit eigenen Arbeitern (multiprocessing, Rohre); jeder Arbeiter rechnet vier Felder."""

import argparse
import json
import multiprocessing as mp
import os
import tempfile
import time

import numpy as np
import torch
from torch import nn

FELDER, ARBEITER = 4, 2


def rechne_feld(z, wurf, k):
    hoehe = z[:, 0] + 0.05 * z[:, 1]
    tempo = z[:, 1] + 0.05 * (wurf - 0.3 * hoehe)
    neu = z.copy()
    neu[:, 0], neu[:, 1] = hoehe, tempo
    neu[:, 2:] = 0.9 * z[:, 2:] + 0.1 * np.outer(hoehe, np.ones(8))
    return neu


def arbeite(rohr, saat):
    g = np.random.default_rng(saat)
    z = g.normal(0, 1, (FELDER, 10)).astype(np.float32)
    while (zuege := rohr.recv()) is not None:
        for k in range(4):
            z = rechne_feld(z, np.asarray(zuege) - 1.0, k)
        lohn = -np.abs(z[:, 0])
        aus = np.abs(z[:, 0]) > 4
        z[aus] = g.normal(0, 1, (int(aus.sum()), 10))
        rohr.send((z, lohn.astype(np.float32), aus))


class Netz(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Sequential(nn.Linear(10, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.p, self.w = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, x):
        h = self.a(x)
        return self.p(h), self.w(h).squeeze(-1)


class Protokoll:
    def __init__(self, jede):
        self.jede = jede
        self.datei = open(os.path.join(tempfile.mkdtemp(), "verlauf.jsonl"), "w")

    def schreibe(self, schritt, nummer, sicht, zug, lohn):
        if schritt % self.jede:
            return
        eintrag = {"schritt": schritt, "feld": nummer, "zug": int(zug), "lohn": float(lohn)}
        eintrag["sicht"] = [round(float(x), 5) for x in sicht]
        self.datei.write(json.dumps(eintrag, indent=1) + "\n")
        self.datei.flush()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--fixed1", action="store_true", help="ein Netzaufruf fuer alle Felder")
    p.add_argument("--fixed2", action="store_true", help="seltener schreiben")
    p.add_argument("--schritte", type=int, default=3500)
    arg = p.parse_args()
    zusammen, selten = arg.fixed or arg.fixed1, arg.fixed or arg.fixed2
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rohre, leute = [], []
    for i in range(ARBEITER):
        hier, dort = mp.Pipe()
        leute.append(mp.Process(target=arbeite, args=(dort, i), daemon=True))
        leute[-1].start()
        rohre.append(hier)
    netz = Netz()
    adam = torch.optim.Adam(netz.parameters(), lr=5e-4, fused=True)
    protokoll = Protokoll(100 if selten else 1)
    sichten = np.zeros((ARBEITER * FELDER, 10), np.float32)
    S, Z, L, E = [], [], [], []
    beginn = time.process_time()
    for schritt in range(arg.schritte):
        with torch.no_grad():
            if zusammen:
                logits, _ = netz(torch.from_numpy(sichten))
                zuege = torch.multinomial(logits.softmax(-1), 1)[:, 0].tolist()
            else:
                zuege = []
                for sicht in sichten:
                    logits, wert = netz(torch.from_numpy(sicht)[None])
                    zuege.append(int(torch.multinomial(logits.softmax(-1), 1)))
        for i, rohr in enumerate(rohre):
            rohr.send(zuege[i * FELDER : (i + 1) * FELDER])
        antworten = [rohr.recv() for rohr in rohre]
        S.append(sichten)
        Z.append(zuege)
        sichten = np.concatenate([a[0] for a in antworten])
        lohn = np.concatenate([a[1] for a in antworten])
        L.append(lohn)
        E.append(np.concatenate([a[2] for a in antworten]))
        for nummer, (sicht, zug, lohn) in enumerate(zip(sichten, zuege, L[-1])):
            protokoll.schreibe(schritt, nummer, sicht, zug, lohn)
        if len(S) == 32:
            with torch.no_grad():
                g = netz(torch.from_numpy(sichten))[1].numpy()
            ertrag = np.zeros((32, len(g)), np.float32)
            for t in range(31, -1, -1):
                g = ertrag[t] = L[t] + 0.98 * g * ~E[t]
            logits, wert = netz(torch.from_numpy(np.concatenate(S)))
            R = torch.from_numpy(ertrag.reshape(-1))
            Zt = torch.tensor([z for zeile in Z for z in zeile])
            wahl = logits.log_softmax(-1).gather(1, Zt[:, None])[:, 0]
            verlust = (R - wert).square().mean() - (wahl * (R - wert).detach()).mean()
            adam.zero_grad()
            verlust.backward()
            adam.step()
            S, Z, L, E = [], [], [], []
    dauer = time.process_time() - beginn
    for rohr in rohre:
        rohr.send(None)
    print(f"cpu {dauer:.2f} work {arg.schritte}")


if __name__ == "__main__":
    main()
