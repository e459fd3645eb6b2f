"""PPO of Stable-Baselines3 with four environments in processes of their own."""

import measured

measured.without_tensorflow()

import torch
from stable_baselines3 import PPO
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.vec_env import SubprocVecEnv


def main():
    torch.set_num_threads(1)
    envs = make_vec_env("CartPole-v1", n_envs=4, seed=0, vec_env_cls=SubprocVecEnv)
    model = PPO("MlpPolicy", envs, n_steps=256, seed=0, device="cpu")
    # timers| import hand_timers
    # timers| hand_timers.around_on_policy(model)
    measured.turns(64, step_async=model.get_env())
    measured.turns(8, step=model.policy.optimizer)
    measured.first_step(model.get_env(), "step_async")
    # torch.profiler| from torch.profiler import ProfilerActivity, profile
    # torch.profiler| profiler = profile(activities=[ProfilerActivity.CPU])
    # torch.profiler| profiler.start()
    with measured.loop():
        model.learn(measured.steps(14336))
    # torch.profiler| profiler.stop()
    # torch.profiler| profiler.key_averages()
    # timers| hand_timers.show()
    envs.close()


if __name__ == "__main__":
    main()
