"""Actors on a node of their own, with another host name and without the folder in argv[1]."""

import subprocess
import sys
import time
from pathlib import Path

import ray
from ray.cluster_utils import Cluster

import hotloop


@ray.remote(num_cpus=1, resources={"other": 1})
class Player:
    def play(self, steps: int) -> int:
        for _ in range(steps):
            with hotloop.profile("env.step"):
                sum(range(20_000))
            hotloop.count("env_steps", 1)
        return steps


def other_machine(address: str, hidden: str) -> "subprocess.Popen[bytes]":
    start = f"{sys.executable} -m ray.scripts.scripts start --block --disable-usage-stats"
    options = f"--address={address} --num-cpus=2 --resources='{{\"other\": 2}}'"
    script = f"hostname machine-b && mount -t tmpfs none {hidden} && exec {start} {options}"
    return subprocess.Popen(["unshare", "-mu", "sh", "-c", script], stdout=subprocess.DEVNULL)


def main() -> None:
    current = Path("/tmp/ray/ray_current_cluster")
    existed = current.exists()
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    node = other_machine(cluster.address, sys.argv[1])
    try:
        ray.init(address=cluster.address, log_to_driver=False)
        while ray.cluster_resources().get("other", 0) < 2:
            time.sleep(0.2)
        players = [Player.remote() for _ in range(2)]
        done = sum(ray.get([player.play.remote(50) for player in players]))
        begin = time.monotonic()
        while (
            time.monotonic() - begin < 4
        ):  # windows of a second; what follows the last may be lost
            done += sum(ray.get([player.play.remote(50) for player in players]))
        print(done)
        ray.shutdown()
    finally:
        node.terminate()
        node.wait()
        cluster.shutdown()
        if not existed:
            current.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
