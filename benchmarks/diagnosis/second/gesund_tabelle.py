"""Healthy: tabular SARSA in German."""

# plants: nothing
import random

RASTER, ZUEGE = 8, ((0, 1), (1, 0), (0, -1), (-1, 0))


def anfang():
    return (0, 0)


def zug(ort, nummer):
    x = min(max(ort[0] + ZUEGE[nummer][0], 0), RASTER - 1)
    y = min(max(ort[1] + ZUEGE[nummer][1], 0), RASTER - 1)
    return (x, y), (1.0 if (x, y) == (7, 7) else -0.01), (x, y) == (7, 7)


def waehlen(tafel, ort):
    if random.random() < 0.1:
        return random.randrange(4)
    werte = tafel[ort]
    return werte.index(max(werte))


tafel = {(x, y): [0.0] * 4 for x in range(RASTER) for y in range(RASTER)}
for _runde in range(60_000):
    ort, ende = anfang(), False
    wahl = waehlen(tafel, ort)
    while not ende:
        neu, lohn, ende = zug(ort, wahl)
        naechste = waehlen(tafel, neu)
        ziel = lohn + (0.0 if ende else 0.95 * tafel[neu][naechste])
        tafel[ort][wahl] += 0.1 * (ziel - tafel[ort][wahl])
        ort, wahl = neu, naechste
