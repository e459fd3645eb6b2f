"""PPO in one file, advantage and loss inline: the style of CleanRL."""

import measured

measured.without_tensorflow()

import gymnasium as gym
import numpy as np
import torch
from torch import nn, optim
from torch.distributions.categorical import Categorical

ENVS, STEPS, EPOCHS, MINIBATCHES = 4, 128, 4, 4
GAMMA, LAMBDA, CLIP = 0.99, 0.95, 0.2
BATCH = ENVS * STEPS


def layer(inputs, outputs, std=2**0.5):
    linear = nn.Linear(inputs, outputs)
    nn.init.orthogonal_(linear.weight, std)
    nn.init.constant_(linear.bias, 0.0)
    return linear


class Agent(nn.Module):
    def __init__(self, inputs, actions):
        super().__init__()
        self.critic = nn.Sequential(
            layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, 1, 1.0)
        )
        self.actor = nn.Sequential(
            layer(inputs, 64), nn.Tanh(), layer(64, 64), nn.Tanh(), layer(64, actions, 0.01)
        )

    def get_value(self, x):
        return self.critic(x)

    def get_action_and_value(self, x, action=None):
        probs = Categorical(logits=self.actor(x))
        if action is None:
            action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(x)


torch.set_num_threads(1)
np.random.seed(1)
torch.manual_seed(1)
envs = gym.vector.SyncVectorEnv([lambda: gym.make("CartPole-v1") for _ in range(ENVS)])
shape = envs.single_observation_space.shape
agent = Agent(shape[0], int(envs.single_action_space.n))
optimizer = optim.Adam(agent.parameters(), lr=2.5e-4, eps=1e-5)
obs = torch.zeros((STEPS, ENVS, *shape))
actions, logprobs = torch.zeros((STEPS, ENVS)), torch.zeros((STEPS, ENVS))
rewards, dones = torch.zeros((STEPS, ENVS)), torch.zeros((STEPS, ENVS))
values = torch.zeros((STEPS, ENVS))
next_obs = torch.Tensor(envs.reset(seed=1)[0])
next_done = torch.zeros(ENVS)
# timers| import hand_timers
# timers| for network in (agent.actor, agent.critic):
# timers|     hand_timers.around(network, "forward", "learn.forward", outside="policy.act")
measured.turns(64, step=envs)
measured.turns(8, step=optimizer)
measured.first_step(envs)
# torch.profiler| from torch.profiler import ProfilerActivity, profile
# torch.profiler| profiler = profile(activities=[ProfilerActivity.CPU])
# torch.profiler| profiler.start()
with measured.loop():
    for _ in range(measured.steps(34816) // BATCH):
        for step in range(STEPS):
            obs[step] = next_obs
            dones[step] = next_done
            # timers| hand_timers.enter("policy.act")
            with torch.no_grad():
                action, logprob, _, value = agent.get_action_and_value(next_obs)
                # timers| hand_timers.leave()
                values[step] = value.flatten()
            actions[step] = action
            logprobs[step] = logprob
            # timers| hand_timers.enter("env.step")
            found, reward, terminated, truncated, _ = envs.step(action.numpy())
            # timers| hand_timers.leave()
            rewards[step] = torch.tensor(reward).view(-1)
            next_obs = torch.Tensor(found)
            next_done = torch.Tensor(np.logical_or(terminated, truncated))

        with torch.no_grad():
            next_value = agent.get_value(next_obs).reshape(1, -1)
            # timers| hand_timers.enter("advantage")
            advantages = torch.zeros_like(rewards)
            last = 0
            for t in reversed(range(STEPS)):
                is_last = t == STEPS - 1
                going_on = 1.0 - (next_done if is_last else dones[t + 1])
                following = next_value if is_last else values[t + 1]
                delta = rewards[t] + GAMMA * following * going_on - values[t]
                last = delta + GAMMA * LAMBDA * going_on * last
                advantages[t] = last
            returns = advantages + values
            # timers| hand_timers.leave()

        b_obs = obs.reshape((-1, *shape))
        b_logprobs, b_actions = logprobs.reshape(-1), actions.reshape(-1)
        b_advantages, b_returns = advantages.reshape(-1), returns.reshape(-1)
        rows = np.arange(BATCH)
        for _ in range(EPOCHS):
            np.random.shuffle(rows)
            for start in range(0, BATCH, BATCH // MINIBATCHES):
                part = rows[start : start + BATCH // MINIBATCHES]
                _, newlogprob, entropy, newvalue = agent.get_action_and_value(
                    b_obs[part], b_actions.long()[part]
                )
                ratio = (newlogprob - b_logprobs[part]).exp()
                mb_advantages = b_advantages[part]
                mb_advantages = (mb_advantages - mb_advantages.mean()) / (
                    mb_advantages.std() + 1e-8
                )
                pg_loss = torch.max(
                    -mb_advantages * ratio,
                    -mb_advantages * torch.clamp(ratio, 1 - CLIP, 1 + CLIP),
                ).mean()
                v_loss = 0.5 * ((newvalue.view(-1) - b_returns[part]) ** 2).mean()
                loss = pg_loss - 0.01 * entropy.mean() + v_loss * 0.5
                # timers| hand_timers.enter("learn.optimizer")
                optimizer.zero_grad()
                # timers| hand_timers.leave()
                # timers| hand_timers.enter("learn.backward")
                loss.backward()
                # timers| hand_timers.leave()
                # timers| hand_timers.enter("learn.optimizer")
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
                # timers| hand_timers.leave()
# torch.profiler| profiler.stop()
# torch.profiler| profiler.key_averages()
# timers| hand_timers.show()
envs.close()
