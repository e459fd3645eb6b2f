"""A training loop of a second, all Python; a phase can be slowed down: `--slow env.step=0.2`."""

from __future__ import annotations

import argparse

from hotloop import count, profile

#: Rounds of work in each phase.
WORK = {"policy.act": 1500, "env.step": 2500, "learn.forward": 2000, "learn.backward": 3000}
STEPS_PER_UPDATE = 4
STEPS_PER_EPISODE = 50


def work(rounds: int) -> float:
    total = 0.0
    for i in range(rounds):
        total += i * 0.5
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=4000)
    parser.add_argument("--updates", type=int, default=1, help="gradient steps every fourth step")
    parser.add_argument("--slow", default="", metavar="PHASE=SHARE")
    options = parser.parse_args()
    phase, _, share = options.slow.partition("=")
    rounds = {**WORK, **({phase: int(WORK[phase] * (1 + float(share)))} if phase else {})}
    for step in range(1, options.steps + 1):
        with profile("collect"):
            for name in ("policy.act", "env.step"):
                with profile(name):
                    work(rounds[name])
            count("env_steps")
        if step % STEPS_PER_EPISODE == 0:
            count("episodes")
        if step % STEPS_PER_UPDATE == 0:
            for _ in range(options.updates):
                with profile("learn"):
                    for name in ("learn.forward", "learn.backward"):
                        with profile(name):
                            work(rounds[name])
                    count("gradient_steps")


if __name__ == "__main__":
    main()
