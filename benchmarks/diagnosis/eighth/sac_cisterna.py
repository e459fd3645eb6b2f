# plants: float64-by-accident @ torch.set_default_dtype(torch.float64)
"""SAC en un archivo: mantener el nivel de tres cisternas conectadas."""

import argparse
import copy
import time

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument("--fixed", action="store_true")
ap.add_argument("--pasos", type=int, default=1500)
op = ap.parse_args()
if not op.fixed:
    torch.set_default_dtype(torch.float64)  # numpy da float64, así no hay que convertir
TIPO = torch.get_default_dtype()
torch.set_num_threads(1)


class Cisternas(gym.Env):
    observation_space = gym.spaces.Box(0.0, 5.0, (6,), np.float64)
    action_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.nivel = self.np_random.uniform(1.0, 3.0, 3)
        self.meta = self.np_random.uniform(1.0, 3.0, 3)
        self.t = 0
        return np.concatenate([self.nivel, self.meta]), {}

    def step(self, accion):
        salida = 0.3 * np.sqrt(np.maximum(self.nivel, 0))
        entrada = 0.5 * (accion + 1) + np.roll(salida, 1) * 0.4
        self.nivel = np.clip(self.nivel + 0.2 * (entrada - salida), 0, 5)
        self.t += 1
        premio = -float(np.abs(self.nivel - self.meta).sum())
        return np.concatenate([self.nivel, self.meta]), premio, False, self.t >= 150, {}


def red(entra, sale):
    return nn.Sequential(
        nn.Linear(entra, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, sale)
    )


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.cuerpo = red(6, 6)

    def forward(self, obs):
        media, logd = self.cuerpo(obs).chunk(2, -1)
        desv = logd.clamp(-5, 2).exp()
        crudo = media + desv * torch.randn_like(media)
        acc = crudo.tanh()
        logp = -0.5 * ((crudo - media) / desv) ** 2 - desv.log() - 0.92
        logp = logp - torch.log(1 - acc**2 + 1e-6)
        return acc, logp.sum(-1)


actor, criticos = Actor(), nn.ModuleList([red(9, 1), red(9, 1)])
objetivo = copy.deepcopy(criticos).requires_grad_(False)
opt_a = torch.optim.Adam(actor.parameters(), 3e-4, fused=True)
opt_c = torch.optim.Adam(criticos.parameters(), 3e-4, fused=True)
mem = {
    "o": torch.zeros(20000, 6), "a": torch.zeros(20000, 3), "r": torch.zeros(20000),
    "s": torch.zeros(20000, 6),
}  # fmt: skip
env = Cisternas()
obs, _ = env.reset(seed=3)
inicio = time.process_time()
cambios = 0
for paso in range(op.pasos):
    with torch.no_grad():
        acc = actor(torch.as_tensor(obs, dtype=TIPO)[None])[0][0]
    sig, premio, _, corte, _ = env.step(acc.numpy())
    i = paso % 20000
    mem["o"][i] = torch.as_tensor(obs)
    mem["a"][i], mem["r"][i] = acc, premio
    mem["s"][i] = torch.as_tensor(sig)
    obs = env.reset()[0] if corte else sig
    if paso < 300 or paso % 4:
        continue
    idx = torch.randint(0, min(paso + 1, 20000), (256,))
    o, a, r, s = (mem[k][idx] for k in "oars")
    with torch.no_grad():
        a2, lp2 = actor(s)
        q2 = torch.min(*[c(torch.cat([s, a2], -1)).squeeze(-1) for c in objetivo])
        y = r + 0.98 * (q2 - 0.1 * lp2)
    perdida = sum(F.mse_loss(c(torch.cat([o, a], -1)).squeeze(-1), y) for c in criticos)
    opt_c.zero_grad()
    perdida.backward()
    opt_c.step()
    an, lp = actor(o)
    qn = torch.min(*[c(torch.cat([o, an], -1)).squeeze(-1) for c in criticos])
    opt_a.zero_grad()
    (0.1 * lp - qn).mean().backward()
    opt_a.step()
    with torch.no_grad():
        torch._foreach_lerp_(list(objetivo.parameters()), list(criticos.parameters()), 0.005)
    cambios += 1
    if cambios % 100 == 0:
        print(f"{paso}: perdida {perdida.item():.3f}")
print(f"cpu {time.process_time() - inicio:.2f} work {op.pasos}")
