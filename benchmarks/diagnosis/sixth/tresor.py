# plants: deepcopy-in-step @ "estado": copy.deepcopy(self.estado)
"""Q-learning tabular: un robot abre cajas fuertes y recuerda qué llaves ha cogido."""

import copy
import random
import sys
import time
from collections import defaultdict

LIMPIO = "--fixed" in sys.argv


class Boveda:
    def __init__(self, lado=7, llaves=3, semilla=0):
        self.lado, self.azar = lado, random.Random(semilla)
        celdas = [(f, c) for f in range(lado) for c in range(lado)]
        self.llaves = self.azar.sample(celdas[1:], llaves)
        self.puerta = (lado - 1, lado - 1)

    def empezar(self):
        self.estado = {"pos": (0, 0), "cogidas": [False] * len(self.llaves), "pasos": 0, "rastro": [(0, 0)] * 6}
        return self.clave()

    def clave(self):
        return (*self.estado["pos"], *self.estado["cogidas"])

    def paso(self, accion):
        e = self.estado
        f, c = e["pos"]
        df, dc = ((0, 1), (1, 0), (0, -1), (-1, 0))[accion]
        e["pos"] = (min(max(f + df, 0), self.lado - 1), min(max(c + dc, 0), self.lado - 1))
        e["pasos"] += 1
        e["rastro"] = e["rastro"][1:] + [e["pos"]]
        premio = -0.01
        for i, llave in enumerate(self.llaves):
            if e["pos"] == llave and not e["cogidas"][i]:
                e["cogidas"][i] = True
                premio += 0.3
        abierto = e["pos"] == self.puerta and all(e["cogidas"])
        premio += 1.0 if abierto else 0.0
        if LIMPIO:
            info = {"estado": e}
        else:
            info = {"estado": copy.deepcopy(self.estado)}
        return self.clave(), premio, abierto or e["pasos"] >= 200, info


def aprender(pasos=450000):
    boveda, dado = Boveda(), random.Random(1)
    q = defaultdict(lambda: [0.0] * 4)
    clave, total, ultimos, vistas = boveda.empezar(), 0.0, [], 0
    inicio = time.perf_counter()
    for n in range(pasos):
        fila = q[clave]
        a = dado.randrange(4) if dado.random() < 0.1 else fila.index(max(fila))
        nueva, premio, fin, info = boveda.paso(a)
        meta = premio if fin else premio + 0.97 * max(q[nueva])
        fila[a] += 0.2 * (meta - fila[a])
        vistas += info["estado"]["cogidas"][0]
        total, clave = total + premio, nueva
        if fin:
            ultimos.append(total)
            clave, total = boveda.empezar(), 0.0
    print(f"steps {pasos} loop_s {time.perf_counter() - inicio:.3f} return {sum(ultimos[-50:]) / 50:.3f}")


aprender()
