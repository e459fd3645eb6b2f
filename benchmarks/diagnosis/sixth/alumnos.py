# plants: logging @ registro.apuntar(paso, premio, red)
# plants: evaluation @ nota = examinar(red, 12)
"""Actor-critic de un solo alumno: un registro por paso (mayor) y exámenes demasiado frecuentes (menor)."""

import json
import os
import sys
import tempfile
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
F1 = "--fixed" in sys.argv or "--fixed1" in sys.argv
F2 = "--fixed" in sys.argv or "--fixed2" in sys.argv


class Columpio:
    def __init__(self, semilla):
        self.azar = np.random.default_rng(semilla)

    def reset(self):
        self.a, self.v, self.t = self.azar.uniform(-0.2, 0.2), 0.0, 0
        return self.ver()

    def ver(self):
        return np.array([np.cos(self.a), np.sin(self.a), self.v], np.float32)

    def step(self, accion):
        self.v += 0.05 * (-3 * np.sin(self.a) + (accion - 1))
        self.a += 0.05 * self.v
        self.t += 1
        return self.ver(), float(abs(self.v)), self.t >= 60


class Registro:
    def __init__(self):
        self.ruta = os.path.join(tempfile.mkdtemp(), "registro.jsonl")

    def apuntar(self, paso, premio, red):
        linea = {"paso": paso, "premio": premio}
        for nombre, p in red.named_parameters():
            linea[nombre] = float(p.detach().norm())
        with open(self.ruta, "a") as f:
            f.write(json.dumps(linea) + "\n")


def examinar(red, veces):
    total, mundo = 0.0, Columpio(99)
    for _ in range(veces):
        obs, fin = mundo.reset(), False
        while not fin:
            with torch.no_grad():
                accion = int(red(torch.from_numpy(obs))[:3].argmax())
            obs, premio, fin = mundo.step(accion)
            total += premio
    return total / veces


red = nn.Sequential(nn.Linear(3, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, 4))
adam = torch.optim.Adam(red.parameters(), 1e-3, fused=True)
registro, mundo = Registro(), Columpio(0)
PASOS = 24000
obs, nota = mundo.reset(), 0.0
O, A, R = [], [], []
inicio = time.perf_counter()
for paso in range(1, PASOS + 1):
    with torch.no_grad():
        pi = torch.softmax(red(torch.from_numpy(obs))[:3], -1)
    accion = int(torch.multinomial(pi, 1))
    O.append(obs), A.append(accion)
    obs, premio, fin = mundo.step(accion)
    R.append(premio)
    if not F1 or paso % 100 == 0:
        registro.apuntar(paso, premio, red)
    if fin:
        g, G = 0.0, []
        for r in reversed(R):
            g = r + 0.97 * g
            G.append(g)
        y = torch.tensor(G[::-1])
        sal = red(torch.from_numpy(np.stack(O)))
        lp = torch.log_softmax(sal[:, :3], -1).gather(1, torch.tensor(A)[:, None])[:, 0]
        ventaja = (y - sal[:, 3]).detach()
        perdida = -(lp * ventaja).mean() + 0.1 * (y - sal[:, 3]).square().mean()
        adam.zero_grad()
        perdida.backward()
        adam.step()
        O, A, R = [], [], []
        obs = mundo.reset()
    if paso % (6000 if F2 else 600) == 0:
        nota = examinar(red, 12)
print(f"steps {PASOS} loop_s {time.perf_counter() - inicio:.3f} return {nota:.2f}")
