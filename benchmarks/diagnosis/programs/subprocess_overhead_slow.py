"""Light environments in processes of their own."""

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import DummyVecEnv, SubprocVecEnv


def main(processes: bool = True) -> None:
    torch.set_num_threads(1)
    kind = SubprocVecEnv if processes else DummyVecEnv
    envs = make_vec_env("CartPole-v1", n_envs=4, seed=0, vec_env_cls=kind)
    model = PPO("MlpPolicy", envs, n_steps=256, batch_size=256, n_epochs=4, seed=0, device="cpu")
    model.learn(10_000)
    envs.close()


if __name__ == "__main__":
    main()
