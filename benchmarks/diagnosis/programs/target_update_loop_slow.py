"""Deep Q-learning whose target network follows after every update, tensor by tensor."""

import torch
from _environments import Walk
from _training import dqn


def follow(target, online):
    for slow, fast in zip(target.parameters(), online.parameters(), strict=True):
        slow.data.copy_(0.99 * slow.data + 0.01 * fast.data)


def main(update=follow) -> None:
    def on_step(step, agent, buffer, reward):
        with torch.no_grad():
            update(agent.target, agent.online)

    dqn(Walk(), 6000, every=2, on_step=on_step)


if __name__ == "__main__":
    main()
