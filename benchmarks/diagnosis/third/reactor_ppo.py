"""PPO (Stable-Baselines3) on a stirred reactor; the chemistry is an ODE that takes milliseconds a step."""

# plants: nothing
import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")
import gymnasium as gym
import numpy as np
import torch
from gymnasium import spaces
from scipy.integrate import solve_ivp
from stable_baselines3 import PPO
from stable_baselines3.common.vec_env import SubprocVecEnv, VecMonitor


def kinetics(t, y, flow, cool):
    """Van de Vusse: A -> B -> C, 2A -> D, with the temperature of the vessel and of its jacket."""
    a, b, T, Tj = y
    k1 = 1.287e12 * np.exp(-9758.3 / (T + 273.15))
    k3 = 9.043e9 * np.exp(-8560.0 / (T + 273.15))
    da = flow * (5.1 - a) - k1 * a - k3 * a * a
    db = -flow * b + k1 * a - k1 * b
    heat = (k1 * a * 4.2 - k1 * b * 11.0 - k3 * a * a * 41.85) / (-0.9342 * 3.01)
    dT = flow * (104.9 - T) + heat + 30.83 * (Tj - T)
    dTj = (cool * -100.0 + 866.9 * (T - Tj)) / 10.0
    return [da, db, dT, dTj]


class Reactor(gym.Env):
    def __init__(self, horizon=60):
        self.horizon = horizon
        self.observation_space = spaces.Box(-np.inf, np.inf, (5,), np.float32)
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)

    def _obs(self):
        a, b, T, Tj = self.y
        return np.array([a / 5, b, (T - 110) / 20, (Tj - 110) / 20, self.want], np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.y = np.array([2.1, 1.0, 112.0, 110.0]) + self.np_random.normal(0, 0.05, 4)
        self.want = self.np_random.uniform(0.7, 1.1)
        self.t = 0
        return self._obs(), {}

    def step(self, action):
        flow = 14.0 + 9.0 * float(np.clip(action[0], -1, 1))
        cool = 4.0 + 4.0 * float(np.clip(action[1], -1, 1))
        sol = solve_ivp(
            kinetics, (0.0, 0.02), self.y, method="LSODA", args=(flow, cool), rtol=1e-6, atol=1e-8
        )
        self.y = np.clip(sol.y[:, -1], [0, 0, 60, 60], [6, 3, 180, 180])
        self.t += 1
        return self._obs(), -abs(float(self.y[1]) - self.want), False, self.t >= self.horizon, {}


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=10000)
    p.add_argument("--fixed", action="store_true", help="no effect, there is nothing to switch off")
    args = p.parse_args()
    torch.set_num_threads(1)
    cores = len(os.sched_getaffinity(0))
    envs = VecMonitor(SubprocVecEnv([Reactor for _ in range(max(2, cores))]))
    model = PPO(
        "MlpPolicy",
        envs,
        n_steps=512,
        batch_size=256,
        n_epochs=3,
        gae_lambda=0.9,
        seed=0,
        device="cpu",
        policy_kwargs=dict(net_arch=[32, 32], optimizer_kwargs=dict(fused=True)),
    )
    start = time.perf_counter()
    model.learn(args.steps)
    took = time.perf_counter() - start
    print("mean return", np.mean([e["r"] for e in model.ep_info_buffer] or [0.0]))
    print(f"loop_s {took:.3f} steps {model.num_timesteps}")
    envs.close()


if __name__ == "__main__":
    main()
