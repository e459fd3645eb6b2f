# plants: per-sample-update @ self.netz.train_on_batch(zustand[None], ziel[None])
"""Deep Q-Lernen mit Keras, wie es in vielen Anleitungen steht."""

import argparse
import os
import random
import time
from collections import deque

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("KERAS_BACKEND", "tensorflow")

import gymnasium as gym
import keras
import numpy as np


class Agent:
    def __init__(self, masse, aktionen, schnell):
        self.aktionen, self.schnell = aktionen, schnell
        self.speicher = deque(maxlen=5000)
        self.epsilon, self.gamma = 1.0, 0.97
        self.netz = keras.Sequential(
            [
                keras.layers.Input((masse,)),
                keras.layers.Dense(48, activation="relu"),
                keras.layers.Dense(48, activation="relu"),
                keras.layers.Dense(aktionen),
            ]
        )
        self.netz.compile(loss="mse", optimizer=keras.optimizers.Adam(1e-3))

    def handle(self, zustand):
        if random.random() < self.epsilon:
            return random.randrange(self.aktionen)
        return int(np.argmax(self.netz(zustand[None], training=False)[0]))

    def merke(self, *erlebnis):
        self.speicher.append(erlebnis)

    def lerne(self, anzahl):
        stapel = random.sample(self.speicher, anzahl)
        folge = np.stack([e[3] for e in stapel])
        jetzt = np.stack([e[0] for e in stapel])
        q_folge = self.netz(folge, training=False).numpy()
        q_jetzt = self.netz(jetzt, training=False).numpy()
        for i, (_, aktion, lohn, _, fertig) in enumerate(stapel):
            q_jetzt[i, aktion] = lohn if fertig else lohn + self.gamma * q_folge[i].max()
        if self.schnell:
            self.netz.train_on_batch(jetzt, q_jetzt)
        else:
            for zustand, ziel in zip(jetzt, q_jetzt):
                self.netz.train_on_batch(zustand[None], ziel[None])
        self.epsilon = max(0.05, self.epsilon * 0.99)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--schritte", type=int, default=700)
    arg = p.parse_args()
    random.seed(0)
    keras.utils.set_random_seed(0)
    welt = gym.make("CartPole-v1")
    agent = Agent(4, 2, arg.fixed)
    s, _ = welt.reset(seed=0)
    start = time.process_time()
    summe = 0.0
    for schritt in range(arg.schritte):
        a = agent.handle(s)
        s2, lohn, fertig, abbruch, _ = welt.step(a)
        agent.merke(s, a, lohn, s2, fertig)
        s = s2
        summe += lohn
        if fertig or abbruch:
            print("Schritt", schritt, "Lohn", summe)
            s, _ = welt.reset()
            summe = 0.0
        if schritt >= 64 and schritt % 4 == 0:
            agent.lerne(24)
    print(f"cpu {time.process_time() - start:.2f} work {arg.schritte}")


main()
