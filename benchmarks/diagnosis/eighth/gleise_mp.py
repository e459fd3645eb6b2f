# plants: nothing
"""Zugbremsung: ein steifes Federmodell, gerechnet von zwei Prozessen; lernt durch Kreuzentropie.

Jede Rechnung hat andere Anfangswerte und andere Kräfte: es gibt nichts, das man aufheben könnte.
"""

import multiprocessing as mp
import os
import time

import numpy as np
from scipy.linalg import solve_banded

WAGEN = 60


def kupplung(dehnung):
    return 40.0 * dehnung + 25.0 * dehnung**3


def steif(dehnung):
    return 40.0 + 75.0 * dehnung**2


def zeitschritt(ort, tempo, bremse, dt=0.05):
    """Ein impliziter Schritt: Newton auf dem tridiagonalen System."""
    neu = tempo.copy()
    for _ in range(6):
        dehnung = np.diff(ort + dt * neu) + 1.0
        k = kupplung(dehnung)
        kraft = np.concatenate([k, [0.0]]) - np.concatenate([[0.0], k])
        rest = neu - tempo - dt * (kraft - bremse * np.tanh(5 * neu))
        s = dt * dt * steif(dehnung)
        band = np.zeros((3, WAGEN))
        band[1] = 1.0 + 5 * dt * bremse / np.cosh(np.clip(5 * neu, -20, 20)) ** 2
        band[1, :-1] += s
        band[1, 1:] += s
        band[0, 1:] = band[2, :-1] = -s
        schritt = solve_banded((1, 1), band, -rest)
        neu = neu + schritt
        if np.abs(schritt).max() < 1e-9:
            break
    return ort + dt * neu, neu


def fahre(auftrag):
    regler, saat = auftrag
    g = np.random.default_rng(saat)
    ort = -np.arange(WAGEN, dtype=float)
    tempo = np.full(WAGEN, g.uniform(3, 5))
    lohn = 0.0
    for _ in range(60):
        merkmal = np.array([1.0, tempo.mean(), tempo.std(), ort[0] / 50])
        bremse = np.clip(regler[:4] @ merkmal, 0, 2) * np.linspace(1, max(regler[4], 0), WAGEN)
        ort, tempo = zeitschritt(ort, tempo, bremse)
        lohn -= abs(tempo.mean()) * 0.1 + tempo.std()
    return lohn, time.process_time()


def main():
    os.environ["OMP_NUM_THREADS"] = "1"
    g = np.random.default_rng(0)
    mitte, streuung = np.zeros(5), np.ones(5)
    with mp.get_context("fork").Pool(2) as becken:
        for runde in range(12):
            proben = mitte + streuung * g.normal(size=(24, 5))
            auftraege = [(p, runde * 100 + i) for i, p in enumerate(proben)]
            lohn = np.array([e[0] for e in becken.map(fahre, auftraege, chunksize=3)])
            beste = proben[np.argsort(-lohn)[:6]]
            mitte, streuung = beste.mean(0), beste.std(0) + 0.02
            print("Runde", runde, "Lohn", round(float(lohn.mean()), 2))
    print("work", 12 * 24)


if __name__ == "__main__":
    main()
