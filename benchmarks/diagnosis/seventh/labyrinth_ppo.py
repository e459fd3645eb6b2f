# plants: slow-reset @ weg = nx.all_pairs_shortest_path_length(graph)
import argparse
import time

import networkx as nx
import numpy as np
import torch
from torch import nn


class Karte:
    def __init__(self, groesse, rng):
        self.n = groesse
        self.frei = np.ones((groesse, groesse), bool)
        for _ in range(groesse):
            z, s = rng.integers(1, groesse - 1, 2)
            self.frei[z, s] = False

    def graph(self):
        g = nx.grid_2d_graph(self.n, self.n)
        g.remove_nodes_from([k for k in list(g) if not self.frei[k]])
        return g


def abstaende(karte):
    graph = karte.graph()
    weg = nx.all_pairs_shortest_path_length(graph)
    return {von: nach for von, nach in weg}


class Labyrinth:
    """Vom Start zum Ziel; vier Richtungen; belohnt wird die Annaeherung."""

    richtungen = [(0, 1), (1, 0), (0, -1), (-1, 0)]

    def __init__(self, karten, rng, merken=None):
        self.karten, self.rng, self.merken = karten, rng, merken

    def lade(self, nummer):
        if self.merken is None:
            return abstaende(self.karten[nummer])
        if nummer not in self.merken:
            self.merken[nummer] = abstaende(self.karten[nummer])
        return self.merken[nummer]

    def neustart(self):
        nummer = int(self.rng.integers(len(self.karten)))
        self.karte, self.abstand = self.karten[nummer], self.lade(nummer)
        orte = list(self.abstand)
        while True:
            self.ort, self.ziel = (orte[i] for i in self.rng.integers(len(orte), size=2))
            if self.ort != self.ziel and self.ziel in self.abstand[self.ort]:
                break
        self.zeit = 0
        return self.sicht()

    def sicht(self):
        n = self.karte.n
        z, s = self.ort
        waende = [float(not (0 <= z + a < n and 0 <= s + b < n and self.karte.frei[z + a, s + b]))
                  for a in (-1, 0, 1) for b in (-1, 0, 1)]
        return np.array([z / n, s / n, (self.ziel[0] - z) / n, (self.ziel[1] - s) / n] + waende, np.float32)

    def schritt(self, aktion):
        vorher = self.abstand[self.ort][self.ziel]
        a, b = self.richtungen[aktion]
        neu = (self.ort[0] + a, self.ort[1] + b)
        if neu in self.abstand:
            self.ort = neu
        jetzt = self.abstand[self.ort][self.ziel]
        self.zeit += 1
        ende = jetzt == 0 or self.zeit >= 60
        return self.sicht(), float(vorher - jetzt) - 0.05 + (2.0 if jetzt == 0 else 0.0), ende


class Netz(nn.Module):
    def __init__(self):
        super().__init__()
        self.koerper = nn.Sequential(nn.Linear(13, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.politik, self.wert = nn.Linear(64, 4), nn.Linear(64, 1)

    def forward(self, x):
        h = self.koerper(x)
        return torch.log_softmax(self.politik(h), -1), self.wert(h)[..., 0]


def vorteile(r, v, e, letzter):
    a, l = np.zeros_like(r), 0.0
    for t in range(len(r) - 1, -1, -1):
        naechster = letzter if t == len(r) - 1 else v[t + 1]
        l = r[t] + 0.98 * naechster * (1 - e[t]) - v[t] + 0.98 * 0.95 * (1 - e[t]) * l
        a[t] = l
    return a


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--runden", type=int, default=28)
    w = p.parse_args()
    rng = np.random.default_rng(3)
    torch.manual_seed(3)
    torch.set_num_threads(1)
    umgebungen = [Labyrinth([Karte(14, np.random.default_rng(i)) for i in range(8)], rng) for _ in range(8)]
    if w.fixed:
        gemerkt = {}
        for u in umgebungen:
            u.merken = gemerkt
    netz = Netz()
    lerner = torch.optim.Adam(netz.parameters(), 1e-3, fused=True)
    sichten, schritte, beginn = np.stack([u.neustart() for u in umgebungen]), 0, time.perf_counter()
    for runde in range(w.runden):
        S, A, L, R, V, E = [], [], [], [], [], []
        for _ in range(128):
            with torch.no_grad():
                logp, v = netz(torch.from_numpy(sichten))
                a = torch.multinomial(logp.exp(), 1)[:, 0]
            S.append(sichten), A.append(a.numpy()), V.append(v.numpy())
            L.append(logp.gather(1, a[:, None])[:, 0].numpy())
            ergebnis = [u.schritt(int(x)) for u, x in zip(umgebungen, a)]
            R.append([x[1] for x in ergebnis]), E.append([float(x[2]) for x in ergebnis])
            sichten = np.stack([u.neustart() if x[2] else x[0] for u, x in zip(umgebungen, ergebnis)])
            schritte += len(umgebungen)
        with torch.no_grad():
            letzte = netz(torch.from_numpy(sichten))[1].numpy()
        R, V, E = (np.array(x, np.float32) for x in (R, V, E))
        adv = vorteile(R, V, E, letzte)
        ziel = torch.from_numpy((adv + V).ravel())
        adv = torch.from_numpy(((adv - adv.mean()) / adv.std()).ravel())
        S, A, L = torch.from_numpy(np.concatenate(S)), torch.from_numpy(np.concatenate(A)), torch.from_numpy(np.concatenate(L))
        for _ in range(4):
            for i in torch.randperm(len(S)).split(256):
                logp, v = netz(S[i])
                q = (logp.gather(1, A[i, None])[:, 0] - L[i]).exp()
                verlust = -torch.min(q * adv[i], q.clamp(0.8, 1.2) * adv[i]).mean() + 0.5 * (v - ziel[i]).pow(2).mean() \
                    + 0.01 * (logp.exp() * logp).sum(-1).mean()
                lerner.zero_grad()
                verlust.backward()
                lerner.step()
        print(f"runde {runde} belohnung je schritt {R.mean():.3f} enden {int(E.sum())}", flush=True)
    print(f"loop_s={time.perf_counter() - beginn:.2f} steps={schritte}")
