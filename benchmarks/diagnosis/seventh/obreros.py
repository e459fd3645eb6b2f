# plants: subprocess-overhead @ flota = Remota(args.n, 7)
# plants: logging @ diario.anotar(paso, recompensas=r, valores=v, acciones=a)
"""A2C sobre un coche en la montana, con obreros en procesos propios."""
import argparse
import json
import multiprocessing as mp
import os
import tempfile
import time

import numpy as np
import torch
import torch.nn as nn


class Coche:
    def __init__(self, semilla):
        self.g = np.random.default_rng(semilla)
        self.reset()

    def reset(self):
        self.x, self.v, self.t = self.g.uniform(-0.6, -0.4), 0.0, 0
        return self.ver()

    def ver(self):
        return np.array([self.x + 0.5, self.v * 15], np.float32)

    def step(self, a):
        self.v = float(np.clip(self.v + 0.0015 * (a - 1) - 0.0025 * np.cos(3 * self.x), -0.07, 0.07))
        self.x = float(np.clip(self.x + self.v, -1.2, 0.6))
        if self.x <= -1.2:
            self.v = 0.0
        self.t += 1
        llega = self.x >= 0.5
        r = 1.0 if llega else abs(self.v) * 5 - 0.05
        fin = llega or self.t >= 200
        return (self.reset() if fin else self.ver()), r, fin


def _obrero(tubo, semilla):
    c = Coche(semilla)
    tubo.send(c.ver())
    while True:
        orden = tubo.recv()
        if orden is None:
            return
        tubo.send(c.step(orden))


class Remota:
    def __init__(self, n, semilla):
        ctx = mp.get_context("fork")
        self.tubos, self.procs = [], []
        for i in range(n):
            a, b = ctx.Pipe()
            p = ctx.Process(target=_obrero, args=(b, semilla + i), daemon=True)
            p.start()
            self.tubos.append(a), self.procs.append(p)
        self.primera = np.stack([t.recv() for t in self.tubos])

    def step(self, acciones):
        for t, a in zip(self.tubos, acciones):
            t.send(int(a))
        o, r, f = zip(*(t.recv() for t in self.tubos))
        return np.stack(o), np.array(r, np.float32), np.array(f, np.float32)

    def close(self):
        for t in self.tubos:
            t.send(None)
        for p in self.procs:
            p.join()


class Local:
    def __init__(self, n, semilla):
        self.coches = [Coche(semilla + i) for i in range(n)]
        self.primera = np.stack([c.ver() for c in self.coches])

    def step(self, acciones):
        o, r, f = zip(*(c.step(int(a)) for c, a in zip(self.coches, acciones)))
        return np.stack(o), np.array(r, np.float32), np.array(f, np.float32)

    def close(self):
        pass


class Diario:
    def __init__(self, ruta, cada):
        self.ruta, self.cada = ruta, cada

    def anotar(self, paso, **series):
        if paso % self.cada:
            return
        fila = {"paso": paso, "hora": time.time()}
        for k, x in series.items():
            x = np.asarray(x, float)
            h, bordes = np.histogram(x, bins=20)
            fila[k] = {"media": x.mean(), "std": x.std(), "h": h.tolist(), "b": bordes.tolist()}
        with open(self.ruta, "a") as f:
            f.write(json.dumps(fila) + "\n")


class Red(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.pi, self.v = nn.Linear(64, 3), nn.Linear(64, 1)

    def forward(self, x):
        h = self.c(x)
        return self.pi(h).log_softmax(-1), self.v(h)[..., 0]


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--n", type=int, default=12)
    ap.add_argument("--pasos", type=int, default=10000)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    if args.fixed:
        flota = Local(args.n, 7)
    else:
        flota = Remota(args.n, 7)
    ruta = os.path.join(tempfile.mkdtemp(), "diario.jsonl")
    diario = Diario(ruta, 200 if args.fixed else 1)
    red = Red()
    opt = torch.optim.RMSprop(red.parameters(), 7e-4)
    o, mem, total, t0 = flota.primera, [], 0.0, time.perf_counter()
    for paso in range(1, args.pasos + 1):
        with torch.no_grad():
            lp, v = red(torch.from_numpy(o))
            a = torch.multinomial(lp.exp(), 1)[:, 0].numpy()
        o2, r, f = flota.step(a)
        diario.anotar(paso, recompensas=r, valores=v, acciones=a)
        mem.append((o, a, r, f))
        o, total = o2, total + r.mean()
        if len(mem) == 32:
            with torch.no_grad():
                g = red(torch.from_numpy(o))[1].numpy()
            G = []
            for _, _, rr, ff in reversed(mem):
                g = rr + 0.99 * (1 - ff) * g
                G.append(g)
            O, A = torch.from_numpy(np.stack([m[0] for m in mem])), torch.from_numpy(np.stack([m[1] for m in mem]))
            G = torch.from_numpy(np.stack(G[::-1]).astype(np.float32))
            lp, v = red(O)
            ventaja = (G - v).detach()
            perdida = -(lp.gather(2, A[..., None])[..., 0] * ventaja).mean() + 0.5 * (G - v).pow(2).mean() \
                + 0.01 * (lp.exp() * lp).sum(-1).mean()
            opt.zero_grad()
            perdida.backward()
            opt.step()
            mem.clear()
        if paso % 1000 == 0:
            print(f"paso {paso} recompensa {total / 1000:.3f}", flush=True)
            total = 0.0
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.pasos * args.n}")
    flota.close()


if __name__ == "__main__":
    main()
