"""Collects with worker processes: `environments` or `collectors`."""

import gc
import sys

import torch
from torchrl.collectors import Collector, MultiSyncCollector
from torchrl.envs import GymEnv, ParallelEnv
from torchrl.modules import MLP, QValueActor


def make_env():
    return GymEnv("CartPole-v1", categorical_action_encoding=True)


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    spec = make_env().action_spec
    net = MLP(in_features=4, out_features=2, num_cells=[32])
    actor = QValueActor(net, in_keys=["observation"], spec=spec)
    options = {"frames_per_batch": 200, "total_frames": 1000}
    if sys.argv[1] == "environments":
        collector = Collector(
            ParallelEnv(2, make_env), actor, auto_register_policy_transforms=False, **options
        )
    else:
        collector = MultiSyncCollector(
            [make_env, make_env], actor, auto_register_policy_transforms=False, **options
        )
    frames = episodes = 0
    for data in collector:
        frames += data.numel()
        episodes += int(data["next", "done"].sum())
    collector.shutdown()
    # One that is collected while the interpreter ends waits for ever, with hotloop and without.
    del collector, data
    gc.collect()
    print(frames, episodes)


if __name__ == "__main__":
    main()
