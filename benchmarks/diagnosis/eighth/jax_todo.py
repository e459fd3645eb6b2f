# plants: nothing
"""Todo el bucle en el dispositivo: entorno, política y PPO dentro de `lax.scan`."""

import time

import jax
import jax.numpy as jnp
import optax
from flax import linen as nn

N, LARGO, VUELTAS = 128, 64, 24


class Red(nn.Module):
    @nn.compact
    def __call__(self, x):
        h = nn.tanh(nn.Dense(64)(x))
        h = nn.tanh(nn.Dense(64)(h))
        return nn.Dense(3)(h), nn.Dense(1)(h)[..., 0]


def paso(estado, accion):
    x, v, t = estado
    v = jnp.clip(v + 0.001 * (accion - 1) - 0.0025 * jnp.cos(3 * x), -0.07, 0.07)
    x = jnp.clip(x + v, -1.2, 0.6)
    fin = (x >= 0.5) | (t >= 200)
    premio = jnp.where(x >= 0.5, 10.0, -0.1) + 10 * jnp.abs(v)
    x, v, t = jnp.where(fin, -0.5, x), jnp.where(fin, 0.0, v), jnp.where(fin, 0, t + 1)
    return (x, v, t), premio, fin


def mira(estado):
    return jnp.stack([estado[0], estado[1] * 10], -1)


red, opt = Red(), optax.chain(optax.clip_by_global_norm(0.5), optax.adam(1e-3))


def costo(params, lote):
    obs, acc, logp0, ventaja, retorno = lote
    logits, valor = red.apply(params, obs)
    logp = jnp.take_along_axis(jax.nn.log_softmax(logits), acc[:, None], 1)[:, 0]
    razon = jnp.exp(logp - logp0)
    pg = -jnp.minimum(razon * ventaja, jnp.clip(razon, 0.8, 1.2) * ventaja).mean()
    return pg + 0.5 * ((valor - retorno) ** 2).mean()


@jax.jit
def vuelta(carga):
    def juega(c, _):
        params, estado, clave = c
        clave, k = jax.random.split(clave)
        obs = mira(estado)
        logits, valor = red.apply(params, obs)
        acc = jax.random.categorical(k, logits)
        logp = jnp.take_along_axis(jax.nn.log_softmax(logits), acc[:, None], 1)[:, 0]
        estado, premio, fin = jax.vmap(paso)(estado, acc)
        return (params, estado, clave), (obs, acc, logp, valor, premio, fin)

    params, ost, estado, clave = carga
    (_, estado, clave), (O, A, L, V, R, F) = jax.lax.scan(juega, (params, estado, clave), None, LARGO)
    ultimo = red.apply(params, mira(estado))[1]

    def gae(c, x):
        acum, sig = c
        r, f, v = x
        delta = r + 0.99 * sig * (1 - f) - v
        acum = delta + 0.94 * (1 - f) * acum
        return (acum, v), acum

    _, G = jax.lax.scan(gae, (jnp.zeros(N), ultimo), (R, F, V), reverse=True)
    todo = tuple(x.reshape(LARGO * N, *x.shape[2:]) for x in (O, A, L, G, G + V))

    def mejora(c, k):
        params, ost = c
        orden = jax.random.permutation(k, LARGO * N).reshape(8, -1)

        def uno(c, j):
            params, ost = c
            grad = jax.grad(costo)(params, tuple(x[j] for x in todo))
            cambio, ost = opt.update(grad, ost)
            return (optax.apply_updates(params, cambio), ost), None

        return jax.lax.scan(uno, (params, ost), orden)

    clave, k = jax.random.split(clave)
    (params, ost), _ = jax.lax.scan(mejora, (params, ost), jax.random.split(k, 4))
    return (params, ost, estado, clave), R.mean()


clave = jax.random.PRNGKey(0)
params = red.init(clave, jnp.zeros((1, 2)))
estado = (jnp.full(N, -0.5), jnp.zeros(N), jnp.zeros(N, int))
carga = (params, opt.init(params), estado, clave)
t0 = time.process_time()
for i in range(VUELTAS):
    carga, premio = vuelta(carga)
    if i % 10 == 0:
        print(i, float(premio))
jax.block_until_ready(carga)
print(f"cpu {time.process_time() - t0:.2f} work {VUELTAS * LARGO * N}")
