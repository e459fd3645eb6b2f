"""DQN of Stable-Baselines3 on CartPole."""

import measured

measured.without_tensorflow()

import torch
from stable_baselines3 import DQN

torch.set_num_threads(1)
model = DQN("MlpPolicy", "CartPole-v1", learning_starts=100, seed=0, device="cpu")
# timers| import hand_timers
# timers| hand_timers.around_off_policy(model)
measured.turns(64, step_async=model.get_env())
measured.first_step(model.get_env(), "step_async")
# torch.profiler| from torch.profiler import ProfilerActivity, profile
# torch.profiler| profiler = profile(activities=[ProfilerActivity.CPU])
# torch.profiler| profiler.start()
with measured.loop():
    model.learn(measured.steps(13000))
# torch.profiler| profiler.stop()
# torch.profiler| profiler.key_averages()
# timers| hand_timers.show()
