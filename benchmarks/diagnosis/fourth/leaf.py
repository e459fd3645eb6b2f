# plants: unbatched-policy @ priors, values = evaluate(
"""Self-play on a small connection game; searches are generators that yield leaves. (one-leaf-search)"""

import math
import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
TOGETHER = "--fixed" in sys.argv
SIZE, SIMS, GAMES = 5, 24, 16
rng = np.random.default_rng(1)
net = nn.Sequential(
    nn.Linear(2 * SIZE * SIZE, 128),
    nn.ReLU(),
    nn.Linear(128, 128),
    nn.ReLU(),
    nn.Linear(128, SIZE * SIZE + 1),
)
opt = torch.optim.Adam(net.parameters(), 1e-3)


class Node:
    __slots__ = ("prior", "visits", "total", "kids")

    def __init__(self, prior):
        self.prior, self.visits, self.total, self.kids = prior, 0, 0.0, {}


def planes(board, player):
    return np.concatenate([(board == player), (board == -player)]).astype(np.float32)


def winner(board, player):
    grid = (board == player).reshape(SIZE, SIZE)
    return grid.all(0).any() or grid.all(1).any() or bool(grid[1:4, 1:4].sum() >= 7)


def search(board, player):
    """Yields leaf planes, is sent (priors, value); returns visit counts."""
    root = Node(1.0)
    for _ in range(SIMS):
        node, b, who, path = root, board.copy(), player, [root]
        value = None
        while node.kids:
            scale = math.sqrt(node.visits + 1)
            move, node = max(
                node.kids.items(),
                key=lambda kv: (
                    kv[1].total / (kv[1].visits + 1e-6)
                    + 1.5 * kv[1].prior * scale / (1 + kv[1].visits)
                ),
            )
            b[move] = who
            path.append(node)
            if winner(b, who):
                value = -1.0
                break
            who = -who
        if value is None:
            priors, value = yield planes(b, who)
            for move in np.flatnonzero(b == 0):
                node.kids[int(move)] = Node(float(priors[move]))
        for n in reversed(path):
            value = -value
            n.visits += 1
            n.total += value
    counts = np.zeros(SIZE * SIZE, np.float32)
    for move, kid in root.kids.items():
        counts[move] = kid.visits
    return counts


def evaluate(rows):
    with torch.inference_mode():
        out = net(torch.from_numpy(np.stack(rows)))
        return torch.softmax(out[:, :-1], 1).numpy(), torch.tanh(out[:, -1]).tolist()


def think(boards, players):
    results = [None] * len(boards)
    live = {}
    for i, (b, p) in enumerate(zip(boards, players)):
        gen = search(b, p)
        live[i] = (gen, next(gen))
    while live:
        group = list(live) if TOGETHER else [next(iter(live))]
        priors, values = evaluate([live[i][1] for i in group])
        for i, p, v in zip(group, priors, values):
            gen = live[i][0]
            try:
                live[i] = (gen, gen.send((p, v)))
            except StopIteration as stop:
                results[i] = stop.value
                del live[i]
    return results


boards = [np.zeros(SIZE * SIZE, np.int8) for _ in range(GAMES)]
players = [1] * GAMES
memory, moves, t0 = [], 0, time.perf_counter()
while time.perf_counter() - t0 < 9:
    for i, counts in enumerate(think(boards, players)):
        probs = counts / counts.sum()
        memory.append((planes(boards[i], players[i]), probs))
        move = int(
            rng.choice(SIZE * SIZE, p=probs.astype(np.float64) / probs.astype(np.float64).sum())
        )
        boards[i][move] = players[i]
        moves += 1
        if winner(boards[i], players[i]) or not (boards[i] == 0).any():
            boards[i][:] = 0
        players[i] = -players[i]
    memory = memory[-2000:]
    pick = rng.integers(0, len(memory), 64)
    x = torch.from_numpy(np.stack([memory[j][0] for j in pick]))
    y = torch.from_numpy(np.stack([memory[j][1] for j in pick]))
    loss = -(y * torch.log_softmax(net(x)[:, :-1], 1)).sum(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(f"{moves / (time.perf_counter() - t0):.1f} steps/s")
