# plants: checkpointing @ save_replay_buffer=keep,
import argparse
import shutil
import tempfile
import time

import gymnasium as gym
import numpy as np
import torch
from stable_baselines3 import SAC
from stable_baselines3.common.callbacks import CallbackList, CheckpointCallback, StopTrainingOnMaxEpisodes


class Stack(gym.ObservationWrapper):
    """Puts the last k observations next to each other, flattened."""

    def __init__(self, env, k=32):
        super().__init__(env)
        low, high = np.tile(env.observation_space.low, k), np.tile(env.observation_space.high, k)
        self.observation_space = gym.spaces.Box(low, high, dtype=np.float32)
        self.window = np.zeros((k, env.observation_space.shape[0]), np.float32)

    def observation(self, o):
        self.window[:-1] = self.window[1:]
        self.window[-1] = o
        return self.window.ravel().copy()


def callbacks(folder, keep):
    save = CheckpointCallback(
        save_freq=100,
        save_path=folder,
        name_prefix="pendulum",
        save_replay_buffer=keep,
    )
    return CallbackList([save, StopTrainingOnMaxEpisodes(10**6)])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--fixed", action="store_true")
    p.add_argument("--steps", type=int, default=3000)
    a = p.parse_args()
    torch.set_num_threads(1)
    folder = tempfile.mkdtemp(prefix="ckpt")
    model = SAC("MlpPolicy", Stack(gym.make("Pendulum-v1")), buffer_size=100_000, batch_size=128, learning_starts=200,
                policy_kwargs=dict(net_arch=[64, 64], optimizer_kwargs=dict(fused=True)), seed=0, device="cpu")
    t0 = time.perf_counter()
    try:
        model.learn(a.steps, callback=callbacks(folder, not a.fixed), log_interval=2)
        dt = time.perf_counter() - t0
    finally:
        shutil.rmtree(folder)
    print(f"loop_s={dt:.2f} steps={model.num_timesteps}")


if __name__ == "__main__":
    main()
