# plants: predict-in-loop @ return lambda s: int(red.predict(s[None], verbose=0)[0].argmax())
# plants: retracing @ perdida = paso(*lote, beta)
import argparse
import os
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import keras
import numpy as np
import tensorflow as tf


class Deposito:
    """Un tanque de agua con demanda variable; hay que mantener el nivel."""

    def __init__(self, semilla):
        self.azar = np.random.default_rng(semilla)

    def reiniciar(self):
        self.nivel, self.fase, self.t = self.azar.uniform(0.2, 0.8), self.azar.uniform(0, 6.28), 0
        return self.ver()

    def ver(self):
        return np.array([self.nivel, np.sin(self.fase), np.cos(self.fase), self.t / 100], np.float32)

    def avanzar(self, a):
        self.fase += 0.15
        self.nivel = float(np.clip(self.nivel + (0.0, 0.04, 0.1)[a] - 0.05 - 0.03 * np.sin(self.fase), 0, 1))
        self.t += 1
        return self.ver(), 1.0 - 4 * abs(self.nivel - 0.5) - 0.1 * (a == 2), self.t >= 100


def construir():
    return keras.Sequential([keras.Input((4,)), keras.layers.Dense(64, "relu"), keras.layers.Dense(64, "relu"),
                             keras.layers.Dense(3)])


def decisor(red, directo):
    if directo:
        pasar = tf.function(lambda z: red(z), input_signature=[tf.TensorSpec((1, 4), tf.float32)])
        return lambda s: int(pasar(tf.constant(s[None])).numpy()[0].argmax())
    return lambda s: int(red.predict(s[None], verbose=0)[0].argmax())


def aprendiz(red, meta, opt):
    @tf.function
    def paso(s, a, r, s2, fin, prob, beta):
        peso = (1.0 / prob) ** beta
        peso /= tf.reduce_max(peso)
        y = r + 0.97 * (1 - fin) * tf.reduce_max(meta(s2), 1)
        with tf.GradientTape() as cinta:
            q = tf.reduce_sum(red(s) * tf.one_hot(a, 3), 1)
            perdida = tf.reduce_mean(peso * tf.square(y - q))
        opt.apply_gradients(zip(cinta.gradient(perdida, red.trainable_variables), red.trainable_variables))
        return perdida
    return paso


def principal():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--pasos", type=int, default=220)
    x = p.parse_args()
    keras.utils.set_random_seed(4)
    azar = np.random.default_rng(4)
    red, meta = construir(), construir()
    meta.set_weights(red.get_weights())
    opt = keras.optimizers.Adam(1e-3)
    opt.build(red.trainable_variables)
    decidir, paso = decisor(red, x.fixed), aprendiz(red, meta, opt)
    mundo, memoria = Deposito(4), []
    s, suma, t0 = mundo.reiniciar(), 0.0, time.perf_counter()
    for t in range(x.pasos):
        a = int(azar.integers(3)) if azar.random() < 0.15 else decidir(s)
        s2, r, fin = mundo.avanzar(a)
        memoria.append((s, a, r, s2, float(fin)))
        suma += r
        s = mundo.reiniciar() if fin else s2
        if fin:
            print(f"paso {t + 1} suma {suma:.1f}", flush=True)
            suma = 0.0
        if t >= 40 and t % 4 == 0:
            i = azar.integers(0, len(memoria), 64)
            S, A, R, S2, F = (np.array(z) for z in zip(*(memoria[j] for j in i)))
            prob = (1.0 + azar.random(64)).astype(np.float32)
            lote = S, A, R.astype(np.float32), S2, F.astype(np.float32), prob
            beta = 0.4 + 0.6 * t / x.pasos
            if x.fixed:
                beta = tf.constant(beta, tf.float32)
            perdida = paso(*lote, beta)
        if t % 100 == 0:
            meta.set_weights(red.get_weights())
    print(f"perdida {float(perdida):.3f}")
    print(f"loop_s={time.perf_counter() - t0:.2f} steps={x.pasos}")


if __name__ == "__main__":
    principal()
