# plants: nothing
"""Autoaprendizaje de Cuatro en Raya con busqueda en muchos tableros a la vez."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

FILAS, COLS = 6, 7


class Red(nn.Module):
    def __init__(self, c=24, bloques=3):
        super().__init__()
        self.a = nn.Conv2d(2, c, 3, padding=1)
        self.bs = nn.ModuleList(nn.Sequential(nn.Conv2d(c, c, 3, padding=1), nn.ReLU(), nn.Conv2d(c, c, 3, padding=1))
                                for _ in range(bloques))
        self.p, self.v = nn.Linear(c * 42, COLS), nn.Linear(c * 42, 1)

    def forward(self, x):
        x = F.relu(self.a(x))
        for b in self.bs:
            x = F.relu(x + b(x))
        x = x.flatten(1)
        return self.p(x), torch.tanh(self.v(x))[:, 0]


class Tableros:
    """Operaciones sobre n tableros; 1 es quien mueve."""

    @staticmethod
    def jugar(t, col):
        n = np.arange(len(t))
        fila = (t[n, :, col] == 0).sum(1) - 1
        t = t.copy()
        t[n, fila, col] = 1
        return t

    @staticmethod
    def gana(t):
        m = t == 1
        h = (m[:, :, :-3] & m[:, :, 1:-2] & m[:, :, 2:-1] & m[:, :, 3:]).any((1, 2))
        v = (m[:, :-3] & m[:, 1:-2] & m[:, 2:-1] & m[:, 3:]).any((1, 2))
        d = (m[:, :-3, :-3] & m[:, 1:-2, 1:-2] & m[:, 2:-1, 2:-1] & m[:, 3:, 3:]).any((1, 2))
        e = (m[:, 3:, :-3] & m[:, 2:-1, 1:-2] & m[:, 1:-2, 2:-1] & m[:, :-3, 3:]).any((1, 2))
        return h | v | d | e


@torch.no_grad()
def mirar(red, t):
    p, v = red(torch.from_numpy(np.stack([t == 1, t == -1], 1).astype(np.float32)))
    p = p.numpy()
    p[t[:, 0] != 0] = -1e9
    p = np.exp(p - p.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True), v.numpy()


def buscar(red, raiz, sims):
    """PUCT para todos los tableros en arreglos."""
    B = len(raiz)
    N, W, P = (np.zeros((B, sims + 2, COLS), np.float32) for _ in range(3))
    hijo = np.full((B, sims + 2, COLS), -1)
    est = np.zeros((B, sims + 2, FILAS, COLS), np.int8)
    fin = np.full((B, sims + 2), np.nan, np.float32)
    est[:, 0] = raiz
    P[:, 0], _ = mirar(red, raiz)
    legal = np.zeros((B, sims + 2, COLS), bool)
    legal[:, 0] = raiz[:, 0] == 0
    b = np.arange(B)
    for k in range(1, sims + 1):
        nodo, activo, camino = np.zeros(B, int), np.ones(B, bool), []
        while activo.any():
            n, w = N[b, nodo], W[b, nodo]
            u = w / np.maximum(n, 1) + 1.5 * P[b, nodo] * np.sqrt(n.sum(1, keepdims=True) + 1) / (1 + n)
            u[~legal[b, nodo]] = -1e9
            c = u.argmax(1)
            camino.append((nodo.copy(), c, activo.copy()))
            sig = hijo[b, nodo, c]
            nueva = activo & (sig < 0)
            if nueva.any():
                i = b[nueva]
                t = Tableros.jugar(est[i, nodo[i]], c[i])
                g = Tableros.gana(t)
                lleno = (t[:, 0] != 0).all(1)
                est[i, k] = -t
                fin[i, k] = np.where(g, -1.0, np.where(lleno, 0.0, np.nan))
                hijo[i, nodo[i], c[i]] = k
                legal[i, k] = est[i, k][:, 0] == 0
            avanza = activo & ~nueva
            nodo = np.where(activo, np.where(nueva, k, sig), nodo)
            activo = avanza & np.isnan(fin[b, nodo])
        p, v = mirar(red, est[b, nodo])
        nuevo = np.isnan(fin[b, nodo])
        P[b[nuevo], nodo[nuevo]] = p[nuevo]
        v = np.where(nuevo, v, np.nan_to_num(fin[b, nodo]))
        for nod, c, act in reversed(camino):
            v = np.where(act, -v, v)
            N[b[act], nod[act], c[act]] += 1
            W[b[act], nod[act], c[act]] += v[act]
    return N[:, 0] / N[:, 0].sum(1, keepdims=True)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--jugadas", type=int, default=40)
    ap.add_argument("--tableros", type=int, default=48)
    ap.add_argument("--sims", type=int, default=24)
    args = ap.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    g = np.random.default_rng(0)
    red = Red()
    opt = torch.optim.SGD(red.parameters(), 0.02, momentum=0.9)
    t = np.zeros((args.tableros, FILAS, COLS), np.int8)
    diario, datos, t0 = [[] for _ in t], [], time.perf_counter()
    for k in range(args.jugadas):
        pi = buscar(red, t, args.sims)
        c = np.array([g.choice(COLS, p=x / x.sum()) for x in pi.astype(float)])
        for i in range(len(t)):
            diario[i].append((t[i].copy(), pi[i]))
        t = Tableros.jugar(t, c)
        gana, lleno = Tableros.gana(t), (t[:, 0] != 0).all(1)
        for i in np.flatnonzero(gana | lleno):
            z = 1.0 if gana[i] else 0.0
            for s, q in reversed(diario[i]):
                datos.append((s, q, z))
                z = -z
            diario[i] = []
        t = -t
        t[gana | lleno] = 0
        datos = datos[-6000:]
        if len(datos) > 256:
            for _ in range(2):
                S, Q, Z = zip(*(datos[j] for j in g.integers(0, len(datos), 256)))
                S = np.stack(S)
                p, v = red(torch.from_numpy(np.stack([S == 1, S == -1], 1).astype(np.float32)))
                err = F.cross_entropy(p, torch.from_numpy(np.stack(Q))) + F.mse_loss(v, torch.from_numpy(np.array(Z, np.float32)))
                opt.zero_grad()
                err.backward()
                opt.step()
            if k % 12 == 0:
                print(f"jugada {k} error {err.item():.3f} datos {len(datos)}", flush=True)
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={args.jugadas * args.tableros}")


if __name__ == "__main__":
    main()
