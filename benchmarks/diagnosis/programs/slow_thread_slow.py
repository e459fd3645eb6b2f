"""Behaviour cloning whose batches a thread parses from JSON, row by row, into a queue."""

import json
import queue
import threading

import numpy as np
import torch
from _training import network
from torch import nn

SIZE, BATCH = 48, 256


def recordings(count: int = 3000) -> list[str]:
    """One line per transition: observation and action."""
    rng = np.random.default_rng(0)
    return [
        json.dumps({"observation": rng.normal(size=SIZE).tolist(), "action": int(rng.integers(4))})
        for _ in range(count)
    ]


def parse(lines: list[str]) -> tuple[np.ndarray, np.ndarray]:
    rows = [json.loads(line) for line in lines]
    observations = np.array([row["observation"] for row in rows], np.float32)
    return observations, np.array([row["action"] for row in rows])


class Parser(threading.Thread):
    """Parses every batch anew."""

    def __init__(self, lines: list[str], batches: int) -> None:
        super().__init__(daemon=True)
        self.lines, self.batches = lines, batches
        self.ready: queue.Queue[tuple[np.ndarray, np.ndarray]] = queue.Queue(maxsize=4)
        self.rng = np.random.default_rng(1)

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        return parse([self.lines[i] for i in self.rng.integers(0, len(self.lines), BATCH)])

    def run(self) -> None:
        for _ in range(self.batches):
            self.ready.put(self.batch())


def main(parser: Parser) -> None:
    torch.manual_seed(0)
    parser.start()
    policy = network(SIZE, 4, hidden=128)
    optimizer = torch.optim.Adam(policy.parameters(), 1e-3)
    for _ in range(parser.batches):
        observations, actions = map(torch.from_numpy, parser.ready.get())
        loss = nn.functional.cross_entropy(policy(observations), actions)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main(Parser(recordings(), 1000))
