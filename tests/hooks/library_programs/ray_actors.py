"""Environments in Ray actors of the program's own, sent to them by value."""

import gymnasium as gym
import numpy as np
import ray

MEGABYTE = 1024 * 1024


class Walk(gym.Env):
    """A walk along a line."""

    observation_space = gym.spaces.Discrete(10)
    action_space = gym.spaces.Discrete(2)

    def reset(self, *, seed=None, options=None):
        self.place = 0
        return 0, {}

    def step(self, action):
        self.place += action
        return self.place, float(action), self.place >= 5, False, {}

    def play(self, steps, test_mode=False):
        for _ in range(steps):
            self.step(1)


def main():
    ray.init(
        num_cpus=2,
        object_store_memory=100 * MEGABYTE,
        include_dashboard=False,
        log_to_driver=False,
        _node_ip_address="127.0.0.1",
    )
    try:
        walks = [ray.remote(Walk).remote() for _ in range(2)]
        ray.get([walk.reset.remote() for walk in walks])
        for step in range(20):
            if step == 10:
                # Whether an array is true cannot be asked.
                refs = [walks[0].play.remote(7, True), walks[1].play.remote(3, np.zeros(2))]
                ray.get(object_refs=refs, timeout=60)
            steps = ray.get([walk.step.remote(1) for walk in walks])
        print(steps[0][0], steps[1][0])
        # Ray kills what is still there at the end, and with it the first second of such a short life.
        ended = [walk.__ray_terminate__.remote() for walk in walks]
        ray.wait(ray_waitables=ended, num_returns=2, timeout=20)
    finally:
        ray.shutdown()


if __name__ == "__main__":
    main()
