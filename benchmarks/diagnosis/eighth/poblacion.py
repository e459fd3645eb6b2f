# plants: nothing
"""Evolución con toda la población en un solo arreglo: 64 redes, 8 mundos cada una."""

import time

import numpy as np

POB, MUNDOS, PASOS, GEN = 64, 8, 120, 150
g = np.random.default_rng(11)
TAM = [(5, 24), (24, 24), (24, 2)]


def desempaca(genes):
    i, capas = 0, []
    for a, b in TAM:
        capas.append(genes[:, i : i + a * b].reshape(POB, a, b))
        i += a * b
    return capas


def decide(capas, x):
    for w in capas[:-1]:
        x = np.tanh(x @ w)
    return np.tanh(x @ capas[-1])


def nave(estado, fuerza):
    pos, vel, comb = estado[..., :2], estado[..., 2:4], estado[..., 4:]
    viento = 0.05 * np.sin(3 * pos[..., ::-1])
    vel = 0.97 * vel + 0.08 * fuerza * (comb > 0) + viento
    pos = pos + 0.1 * vel
    comb = np.maximum(comb - 0.01 * np.abs(fuerza).sum(-1, keepdims=True), 0)
    return np.concatenate([pos, vel, comb], -1)


def valora(genes):
    capas = desempaca(genes)
    estado = np.concatenate([g.normal(size=(MUNDOS, 4)), np.ones((MUNDOS, 1))], -1)
    estado = np.broadcast_to(estado, (POB, MUNDOS, 5)).copy()
    nota = np.zeros(POB)
    for _ in range(PASOS):
        estado = nave(estado, decide(capas, estado))
        nota -= np.hypot(estado[..., 0], estado[..., 1]).mean(1)
    return nota


def cruza(padres):
    n = len(padres)
    mama, papa = padres[g.integers(n, size=POB)], padres[g.integers(n, size=POB)]
    hijos = np.where(g.random(mama.shape) < 0.5, mama, papa)
    return hijos + 0.03 * g.normal(size=hijos.shape)


genes = 0.5 * g.normal(size=(POB, sum(a * b for a, b in TAM)))
t0 = time.process_time()
for gen in range(GEN):
    nota = valora(genes)
    orden = np.argsort(-nota)
    if gen % 30 == 0:
        print(f"gen {gen} mejor {nota[orden[0]]:.1f} media {nota.mean():.1f}")
    genes = np.concatenate([genes[orden[:4]], cruza(genes[orden[:16]])[4:]])
print(f"cpu {time.process_time() - t0:.2f} work {GEN}")
