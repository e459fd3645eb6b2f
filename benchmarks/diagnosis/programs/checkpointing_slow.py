"""The network and the whole replay buffer are saved again and again."""

import torch
from _environments import Walk
from _training import dqn


def main(every: int = 100, with_buffer: bool = True) -> None:
    def on_step(step, agent, buffer, reward):
        if step % every == 0:
            saved = {"net": agent.online.state_dict(), "optimizer": agent.optimizer.state_dict()}
            if with_buffer:
                saved["buffer"] = (buffer.obs, buffer.next_obs, buffer.rewards, buffer.actions)
            torch.save(saved, "checkpoint.pt")

    dqn(Walk(size=64), 6000, on_step=on_step)


if __name__ == "__main__":
    main()
