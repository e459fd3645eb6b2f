# plants: deepcopy-in-step @ self.traza.append(copy.deepcopy(self.cuerpo))
# plants: missing-no-grad @ accion = self.red(torch.as_tensor(obs, dtype=torch.float32))
"""Estrategia evolutiva: una red pequeña aprende a saltar; población de 16, espejos incluidos."""

import argparse
import copy
import time
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

ap = argparse.ArgumentParser()
ap.add_argument("--fixed", action="store_true")
ap.add_argument("--fixed1", action="store_true")
ap.add_argument("--fixed2", action="store_true")
ap.add_argument("--generaciones", type=int, default=20)
op = ap.parse_args()
torch.set_num_threads(1)
torch.manual_seed(0)


@dataclass
class Cuerpo:
    altura: float = 1.0
    velocidad: float = 0.0
    piernas: list = field(default_factory=lambda: [[0.1 * i, 0.0] for i in range(6)])


class Salto:
    """Un cuerpo con seis resortes; la traza sirve para el castigo por sacudidas."""

    def __init__(self):
        self.g = np.random.default_rng(0)

    def empieza(self):
        self.cuerpo, self.traza, self.k = Cuerpo(), [], 0
        return self._mira()

    def _mira(self):
        c = self.cuerpo
        return np.array([c.altura, c.velocidad, *[x for p in c.piernas for x in p]])

    def avanza(self, empuje):
        c = self.cuerpo
        fuerza = -9.8
        for pierna, e in zip(c.piernas, empuje):
            pierna[1] += 0.1 * (float(e) - pierna[0])
            pierna[0] += 0.1 * pierna[1]
            fuerza += 6 * max(0.0, pierna[0] + 0.6 - c.altura)
        c.velocidad = 0.98 * c.velocidad + 0.02 * fuerza
        c.altura = max(0.0, c.altura + 0.02 * c.velocidad)
        if op.fixed or op.fixed2:
            self.traza.append(Cuerpo(c.altura, c.velocidad, [list(p) for p in c.piernas]))
        else:
            self.traza.append(copy.deepcopy(self.cuerpo))
        sacudida = abs(self.traza[-1].velocidad - self.traza[-2].velocidad) if self.k else 0.0
        self.k += 1
        return self._mira(), c.altura - 0.1 * sacudida, self.k >= 200


class Corredor:
    def __init__(self):
        self.red = nn.Sequential(nn.Linear(14, 32), nn.Tanh(), nn.Linear(32, 32), nn.Tanh(), nn.Linear(32, 6))
        self.salto = Salto()

    def evalua(self, vector):
        nn.utils.vector_to_parameters(vector, self.red.parameters())
        obs, total, fin = self.salto.empieza(), 0.0, False
        while not fin:
            if op.fixed or op.fixed1:
                with torch.inference_mode():
                    accion = self.red(torch.as_tensor(obs, dtype=torch.float32))
            else:
                accion = self.red(torch.as_tensor(obs, dtype=torch.float32))
            obs, premio, fin = self.salto.avanza(accion.tolist())
            total += premio
        return total


corredor = Corredor()
centro = nn.utils.parameters_to_vector(corredor.red.parameters()).detach()
t0 = time.process_time()
for gen in range(op.generaciones):
    ruido = torch.randn(8, centro.numel())
    ruido = torch.cat([ruido, -ruido])
    notas = torch.tensor([corredor.evalua(centro + 0.1 * r) for r in ruido])
    rango = notas.argsort().argsort().float() / 15 - 0.5
    centro = centro + 0.05 / (16 * 0.1) * (rango @ ruido)
    print(f"generación {gen}: {notas.mean():.2f}")
print(f"cpu {time.process_time() - t0:.2f} work {op.generaciones * 16 * 200}")
