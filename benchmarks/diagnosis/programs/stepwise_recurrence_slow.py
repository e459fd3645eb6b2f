"""Recurrent policy gradient that learns from sequences one timestep at a time."""

import numpy as np
import torch
from _environments import Walk
from torch import nn

torch.set_num_threads(1)


class Recurrent(nn.Module):
    def __init__(self, inputs, actions) -> None:
        super().__init__()
        self.rnn = nn.LSTM(inputs, 64)
        self.head = nn.Linear(64, actions)

    def forward(self, obs, state=None):
        out, state = self.rnn(obs, state)
        return self.head(out), state

    def stepwise(self, sequence):
        state, logits = None, []
        for obs in sequence:
            out, state = self.rnn(obs[None], state)
            logits.append(self.head(out)[0])
        return torch.stack(logits)

    def whole(self, sequence):
        return self(sequence)[0]


def main(way="stepwise") -> None:
    torch.manual_seed(0)
    env = Walk()
    inputs, actions = int(np.prod(env.observation_space.shape)), int(env.action_space.n)
    net = Recurrent(inputs, actions)
    optimizer = torch.optim.Adam(net.parameters(), 1e-3, fused=True)
    obs, _ = env.reset(seed=0)
    for _iteration in range(25):
        rows, state = [], None
        for _ in range(64):
            with torch.no_grad():
                logits, state = net(torch.as_tensor(obs, dtype=torch.float32).view(1, 1, -1), state)
                action = int(torch.multinomial(logits[0, 0].softmax(0), 1))
            next_obs, reward, terminated, truncated, _ = env.step(action)
            rows.append((np.asarray(obs, np.float32).ravel(), action, float(reward)))
            obs = next_obs
            if terminated or truncated:
                (obs, _), state = env.reset(), None
        seen, did, got = zip(*rows, strict=True)
        sequence = torch.from_numpy(np.stack(seen))[:, None]
        for _ in range(4):
            logp = getattr(net, way)(sequence)[:, 0].log_softmax(1)[range(64), did]
            optimizer.zero_grad()
            (-(logp * torch.tensor(got)).mean()).backward()
            optimizer.step()


if __name__ == "__main__":
    main()
