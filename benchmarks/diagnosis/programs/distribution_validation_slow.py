"""A2C with continuous actions whose distributions validate their arguments."""

import numpy as np
import torch
from _training import network
from torch.distributions import Independent, Normal


def main(validate=None) -> None:
    torch.manual_seed(0)
    torch.distributions.Distribution.set_default_validate_args(validate is None)
    actor, critic = network(6, 3, 32), network(6, 1, 32)
    optimizer = torch.optim.Adam([*actor.parameters(), *critic.parameters()], 1e-3, fused=True)
    state = np.random.default_rng(0).normal(size=(8, 6)).astype(np.float32)
    for _update in range(400):
        logps, values, rewards = [], [], []
        for _ in range(8):
            obs = torch.from_numpy(state.copy())
            policy = Independent(Normal(actor(obs), torch.full((3,), 0.5)), 1)
            action = policy.sample()
            logps.append(policy.log_prob(action))
            values.append(critic(obs)[:, 0])
            state[:, :3] = 0.95 * state[:, :3] + 0.1 * action.numpy()
            rewards.append(torch.from_numpy(-np.abs(state).sum(1)))
        advantage = torch.stack(rewards) - torch.stack(values)
        policy_loss = -(torch.stack(logps) * advantage.detach()).mean()
        optimizer.zero_grad()
        (policy_loss + advantage.pow(2).mean()).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
