# plants: python-loop @ tempo = np.clip(
"""Seilpendel am Kran mit Q-Tabelle: viele winzige NumPy-Felder je Schritt. (tiny NumPy arrays in a step)"""

import math
import sys
import time

import numpy as np

SCHLICHT = "--fixed" in sys.argv
zufall = np.random.default_rng(0)
RAND = 2.0


def kran_numpy(z, kraft):
    ort, tempo = np.array([z[0], z[1]]), np.array([z[2], z[3]])
    a = np.array([kraft * 2.0, 0.0])
    zug = np.array([0.0, -9.81 * np.sin(ort[1])]) + np.array([0.0, -a[0] * np.cos(ort[1])])
    for _ in range(4):
        tempo = np.clip(tempo + 0.01 * (a + zug), -3.0, 3.0)
        ort = ort + 0.01 * tempo
        zug = np.array([0.0, -9.81 * np.sin(ort[1]) - a[0] * np.cos(ort[1])])
    ort[0] = np.clip(ort[0], -RAND, RAND)
    strafe = np.linalg.norm(np.array([ort[0] - 1.0, ort[1]]))
    return (float(ort[0]), float(ort[1]), float(tempo[0]), float(tempo[1])), float(-strafe)


def kran_mathe(z, kraft):
    x, w, v, u = z
    a = kraft * 2.0
    zug = -9.81 * math.sin(w) - a * math.cos(w)
    for _ in range(4):
        v = min(max(v + 0.01 * a, -3.0), 3.0)
        u = min(max(u + 0.01 * zug, -3.0), 3.0)
        x, w = x + 0.01 * v, w + 0.01 * u
        zug = -9.81 * math.sin(w) - a * math.cos(w)
    x = min(max(x, -RAND), RAND)
    return (x, w, v, u), -math.hypot(x - 1.0, w)


def fach(z):
    a = min(int((z[0] + RAND) * 3), 11)
    b = min(max(int((z[1] + 1.0) * 5), 0), 9)
    c = min(max(int((z[2] + 3.0)), 0), 5)
    return (a * 10 + b) * 6 + c


kran = kran_mathe if SCHLICHT else kran_numpy
tafel = [[0.0, 0.0, 0.0] for _ in range(12 * 10 * 6)]
gesamt, beginn = 0, time.perf_counter()
while time.perf_counter() - beginn < 8:
    z = (float(zufall.uniform(-1, 0)), 0.0, 0.0, 0.0)
    f = fach(z)
    for _ in range(150):
        reihe = tafel[f]
        wahl = int(zufall.integers(3)) if zufall.random() < 0.1 else reihe.index(max(reihe))
        z, lohn = kran(z, wahl - 1)
        neu = fach(z)
        reihe[wahl] += 0.1 * (lohn + 0.98 * max(tafel[neu]) - reihe[wahl])
        f = neu
        gesamt += 1
print(f"{gesamt / (time.perf_counter() - beginn):.1f} steps/s")
