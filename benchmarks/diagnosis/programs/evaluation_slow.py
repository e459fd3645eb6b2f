"""An evaluation of many episodes every few hundred steps."""

from _environments import Walk
from _training import dqn


def evaluate(agent, episodes: int) -> float:
    env = Walk()
    total = 0.0
    for episode in range(episodes):
        obs, _ = env.reset(seed=1000 + episode)
        done = False
        while not done:
            obs, reward, terminated, truncated, _ = env.step(agent.act(obs, epsilon=0.0))
            total += float(reward)
            done = terminated or truncated
    return total / episodes


def main(every: int = 300) -> None:
    def on_step(step, agent, *_):
        if step % every == 0 and step:
            evaluate(agent, 20)

    dqn(Walk(), 6000, on_step=on_step)


if __name__ == "__main__":
    main()
