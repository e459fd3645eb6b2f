# plants: distribution-validation @ dados = [Categorical(logits=l) for l in
"""PPO con acción múltiple: un jugador asigna cinco cartas a la vez en un juego de mazos."""

import sys
import time

import numpy as np
import torch
from torch import nn
from torch.distributions import Categorical, Distribution

torch.set_num_threads(1)
torch.manual_seed(7)
ARREGLADO = "--fixed" in sys.argv
if ARREGLADO:
    Distribution.set_default_validate_args(False)
CARTAS, CASILLAS, PARTIDAS = 5, 4, 8


class Mesa:
    def __init__(self, n, semilla):
        self.azar = np.random.default_rng(semilla)
        self.n = n
        self.repartir()

    def repartir(self):
        self.mano = self.azar.integers(1, 10, (self.n, CARTAS)).astype(np.float32)
        self.pedido = self.azar.integers(0, 18, (self.n, CASILLAS)).astype(np.float32)
        return np.concatenate([self.mano / 10, self.pedido / 18], 1)

    def jugar(self, sitios):
        suma = np.zeros((self.n, CASILLAS), np.float32)
        filas = np.arange(self.n)
        for c in range(CARTAS):
            suma[filas, sitios[:, c]] += self.mano[:, c]
        premio = -np.abs(suma - self.pedido).mean(1) / 9
        return self.repartir(), premio


class Jugador(nn.Module):
    def __init__(self):
        super().__init__()
        self.tronco = nn.Sequential(nn.Linear(CARTAS + CASILLAS, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.cabezas = nn.Linear(64, CARTAS * CASILLAS)
        self.valor = nn.Linear(64, 1)

    def forward(self, x, sitios=None):
        z = self.tronco(x)
        dados = [Categorical(logits=l) for l in self.cabezas(z).split(CASILLAS, -1)]
        if sitios is None:
            sitios = torch.stack([d.sample() for d in dados], -1)
        logp = sum(d.log_prob(s) for d, s in zip(dados, sitios.unbind(-1)))
        entropia = sum(d.entropy() for d in dados)
        return sitios, logp, entropia, self.valor(z)[:, 0]


def entrenar(rondas=85, largo=48):
    mesa, yo = Mesa(PARTIDAS, 0), Jugador()
    adam = torch.optim.Adam(yo.parameters(), 1e-3, fused=True)
    obs = mesa.repartir()
    inicio = time.perf_counter()
    for _ in range(rondas):
        O, A, L, P, V = [], [], [], [], []
        for _ in range(largo):
            x = torch.from_numpy(obs)
            with torch.no_grad():
                a, lp, _, v = yo(x)
            obs, premio = mesa.jugar(a.numpy())
            O.append(x), A.append(a), L.append(lp), V.append(v)
            P.append(torch.from_numpy(premio))
        o, a, vieja = torch.cat(O), torch.cat(A), torch.cat(L)
        premio = torch.cat(P)
        ventaja = premio - torch.cat(V)
        ventaja = (ventaja - ventaja.mean()) / (ventaja.std() + 1e-6)
        for _ in range(4):
            for i in torch.randperm(len(o)).split(96):
                _, lp, ent, v = yo(o[i], a[i])
                r = (lp - vieja[i]).exp()
                perdida = -torch.min(r * ventaja[i], r.clamp(0.8, 1.2) * ventaja[i]).mean()
                perdida = perdida + 0.5 * (v - premio[i]).square().mean() - 0.003 * ent.mean()
                adam.zero_grad()
                perdida.backward()
                adam.step()
    tardo = time.perf_counter() - inicio
    print(f"steps {rondas * largo * PARTIDAS} loop_s {tardo:.3f} return {premio.mean():.3f}")


entrenar()
