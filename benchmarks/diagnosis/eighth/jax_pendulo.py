# plants: missing-jit @ def perdida(params, obs, acc, ventaja, retorno):
"""Actor-crítico con JAX y Optax; el péndulo va en NumPy, por lotes."""

import argparse
import time

import jax
import jax.numpy as jnp
import numpy as np
import optax

N_PENDULOS, LARGO = 64, 16


def capas(clave, tam):
    claves = jax.random.split(clave, len(tam) - 1)
    return [
        (jax.random.normal(k, (a, b)) / np.sqrt(a), jnp.zeros(b))
        for k, a, b in zip(claves, tam[:-1], tam[1:])
    ]


def aplica(params, x):
    for w, b in params[:-1]:
        x = jnp.tanh(x @ w + b)
    w, b = params[-1]
    return x @ w + b


def perdida(params, obs, acc, ventaja, retorno):
    media = aplica(params["actor"], obs)[:, 0]
    logp = -0.5 * ((acc - media) / 0.4) ** 2
    valor = aplica(params["critico"], obs)[:, 0]
    return -(logp * ventaja).mean() + 0.5 * ((retorno - valor) ** 2).mean()


class Pendulos:
    def __init__(self, n):
        self.g = np.random.default_rng(0)
        self.th, self.v = self.g.uniform(-3, 3, n), np.zeros(n)

    def mira(self):
        return np.stack([np.cos(self.th), np.sin(self.th), self.v / 8], 1).astype(np.float32)

    def paso(self, u):
        u = np.clip(2 * u, -2, 2)
        ang = (self.th + np.pi) % (2 * np.pi) - np.pi
        premio = -(ang**2 + 0.1 * self.v**2 + 0.001 * u**2)
        self.v = np.clip(self.v + 0.05 * (15 * np.sin(self.th) + 3 * u), -8, 8)
        self.th = self.th + 0.05 * self.v
        nuevo = self.g.random(len(self.th)) < 1 / 200
        self.th = np.where(nuevo, self.g.uniform(-3, 3, len(self.th)), self.th)
        return self.mira(), premio.astype(np.float32)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--fixed", action="store_true")
    ap.add_argument("--vueltas", type=int, default=15)
    op = ap.parse_args()
    k1, k2 = jax.random.split(jax.random.PRNGKey(0))
    params = {"actor": capas(k1, (3, 64, 64, 1)), "critico": capas(k2, (3, 64, 64, 1))}
    opt = optax.adam(1e-3)
    estado = opt.init(params)
    actua = jax.jit(lambda p, o: (aplica(p["actor"], o)[:, 0], aplica(p["critico"], o)[:, 0]))

    def actualiza(params, estado, *lote):
        costo, grad = jax.value_and_grad(perdida)(params, *lote)
        cambios, estado = opt.update(grad, estado, params)
        return optax.apply_updates(params, cambios), estado, costo

    if op.fixed:
        actualiza = jax.jit(actualiza)
    mundo = Pendulos(N_PENDULOS)
    obs = mundo.mira()
    inicio = time.process_time()
    for vuelta in range(op.vueltas):
        O, A, R, V = [], [], [], []
        for _ in range(LARGO):
            media, valor = (np.asarray(x) for x in actua(params, obs))
            acc = media + 0.4 * mundo.g.normal(size=N_PENDULOS).astype(np.float32)
            O.append(obs), A.append(acc), V.append(valor)
            obs, premio = mundo.paso(acc)
            R.append(0.1 * premio)
        acum = np.asarray(actua(params, obs)[1])
        ret = np.zeros((LARGO, N_PENDULOS), np.float32)
        for t in range(LARGO - 1, -1, -1):
            acum = ret[t] = R[t] + 0.97 * acum
        O, A = np.concatenate(O), np.concatenate(A)
        ret, V = ret.ravel(), np.concatenate(V)
        for _ in range(4):
            orden = mundo.g.permutation(len(O))
            for i in range(0, len(O), 256):
                j = orden[i : i + 256]
                params, estado, costo = actualiza(params, estado, O[j], A[j], ret[j] - V[j], ret[j])
        if vuelta % 5 == 0:
            print(vuelta, "premio", np.mean(R), "costo", float(costo))
    print(f"cpu {time.process_time() - inicio:.2f} work {op.vueltas * LARGO * N_PENDULOS}")


if __name__ == "__main__":
    main()
