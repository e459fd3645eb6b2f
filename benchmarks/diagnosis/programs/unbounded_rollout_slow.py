"""A rollout that is never emptied."""

import numpy as np
import torch
from _environments import Walk, vector
from _training import ActorCritic


def main(keep: bool = True, iterations: int = 100) -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    envs = vector(Walk, 8)
    model = ActorCritic(8, 3)
    optimizer = torch.optim.Adam(model.parameters(), 7e-4, fused=True)
    obs, _ = envs.reset(seed=0)
    rollout: list[tuple] = []
    for _ in range(iterations):
        for _ in range(16):
            with torch.no_grad():
                logits, _ = model(torch.from_numpy(obs))
                actions = torch.distributions.Categorical(logits=logits).sample().numpy()
            next_obs, rewards, *_ = envs.step(actions)
            rollout.append((obs, actions, rewards.astype(np.float32)))
            obs = next_obs
        seen, taken, rewards = (np.concatenate(column) for column in zip(*rollout, strict=True))
        for _ in range(4):
            logits, values = model(torch.from_numpy(seen))
            log = torch.distributions.Categorical(logits=logits).log_prob(torch.from_numpy(taken))
            advantage = torch.from_numpy(rewards) - values
            loss = -(log * advantage.detach()).mean() + advantage.pow(2).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        if not keep:
            rollout.clear()


if __name__ == "__main__":
    main()
