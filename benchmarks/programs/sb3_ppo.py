"""PPO of Stable-Baselines3 on CartPole."""

import measured

measured.without_tensorflow()

import torch
from stable_baselines3 import PPO

torch.set_num_threads(1)
model = PPO("MlpPolicy", "CartPole-v1", n_steps=512, seed=0, device="cpu")
# timers| import hand_timers
# timers| hand_timers.around_on_policy(model)
measured.turns(64, step_async=model.get_env())
measured.turns(8, step=model.policy.optimizer)
measured.first_step(model.get_env(), "step_async")
# torch.profiler| from torch.profiler import ProfilerActivity, profile
# torch.profiler| profiler = profile(activities=[ProfilerActivity.CPU])
# torch.profiler| profiler.start()
with measured.loop():
    model.learn(measured.steps(10240))
# torch.profiler| profiler.stop()
# torch.profiler| profiler.key_averages()
# timers| hand_timers.show()
