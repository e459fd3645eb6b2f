# plants: one-leaf-search @ logits, value = self.net(x)
"""Self-play of 6 x 6 Gomoku with PUCT; the network is asked about one leaf at a time."""

import math
import sys
import time

import numpy as np
import torch
from torch import nn

torch.set_num_threads(1)
SIZE, BATCHED = 6, "--fixed" in sys.argv


def winner(board):
    for player in (1, -1):
        b = board == player
        for rows in (b, b.T):
            if (rows[:, :-3] & rows[:, 1:-2] & rows[:, 2:-1] & rows[:, 3:]).any():
                return player
        for d in (b, b[::-1]):
            if (d[:-3, :-3] & d[1:-2, 1:-2] & d[2:-1, 2:-1] & d[3:, 3:]).any():
                return player
    return 0


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(2, 32, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(32, 32, 3, padding=1),
            nn.ReLU(),
            nn.Flatten(),
        )
        self.policy, self.value = nn.Linear(32 * 36, 36), nn.Linear(32 * 36, 1)

    def forward(self, x):
        x = self.body(x)
        return self.policy(x), torch.tanh(self.value(x))


class Node:
    __slots__ = ("children", "prior", "total", "visits")

    def __init__(self, prior):
        self.prior, self.visits, self.total, self.children = prior, 0, 0.0, {}


class Game:
    def __init__(self):
        self.board, self.player, self.root = np.zeros((SIZE, SIZE), np.int8), 1, Node(1.0)

    def descend(self):
        node, board, player, path = self.root, self.board.copy(), self.player, [self.root]
        while node.children:
            scale = 1.5 * math.sqrt(node.visits)
            move, node = max(
                node.children.items(),
                key=lambda mc: (
                    -mc[1].total / (mc[1].visits or 1) + scale * mc[1].prior / (1 + mc[1].visits)
                ),
            )
            board[divmod(move, SIZE)] = player
            player = -player
            path.append(node)
        return path, board, player

    def expand(self, path, board, player, logits, value):
        won = winner(board)
        if won or not (board == 0).any():
            value = won * player
        else:
            free = np.flatnonzero(board.ravel() == 0)
            p = np.exp(logits[free] - logits[free].max())
            for move, prior in zip(free.tolist(), (p / p.sum()).tolist(), strict=True):
                path[-1].children[move] = Node(prior)
        for node in reversed(path):
            node.visits += 1
            node.total += value
            value = -value

    def play(self):
        move = max(self.root.children.items(), key=lambda mc: mc[1].visits)[0]
        self.board[divmod(move, SIZE)] = self.player
        self.player, self.root = -self.player, Node(1.0)
        if winner(self.board) or not (self.board == 0).any():
            self.__init__()


class Player:
    def __init__(self):
        self.net = Net()
        self.optimizer = torch.optim.Adam(self.net.parameters(), 1e-3, fused=True)

    def ask(self, boards, players):
        own = np.stack([b * p for b, p in zip(boards, players, strict=True)])
        x = torch.from_numpy(np.stack([own == 1, own == -1], 1).astype(np.float32))
        with torch.no_grad():
            logits, value = self.net(x)
        return logits.numpy(), value[:, 0].tolist()

    def search(self, games, simulations=40):
        groups = [games] if BATCHED else [[g] for g in games]
        for group in groups:
            for _ in range(simulations):
                leaves = [g.descend() for g in group]
                logits, values = self.ask([b for _, b, _ in leaves], [p for _, _, p in leaves])
                for g, leaf, row, value in zip(group, leaves, logits, values, strict=True):
                    g.expand(*leaf, row, value)

    def learn(self, boards, targets):
        logits, value = self.net(torch.from_numpy(boards))
        loss = (
            -(torch.from_numpy(targets) * logits.log_softmax(-1)).sum(1).mean()
            + value.pow(2).mean()
        )
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()


def main():
    player, games = Player(), [Game() for _ in range(16)]
    moves, start, seen = 0, time.perf_counter(), []
    while time.perf_counter() - start < 8:
        player.search(games)
        for g in games:
            visits = np.zeros(36, np.float32)
            for move, child in g.root.children.items():
                visits[move] = child.visits
            own = g.board * g.player
            seen.append((np.stack([own == 1, own == -1]).astype(np.float32), visits / visits.sum()))
            g.play()
            moves += 1
        rows = np.random.randint(0, len(seen), 64)
        player.learn(np.stack([seen[i][0] for i in rows]), np.stack([seen[i][1] for i in rows]))
    print(f"{moves / (time.perf_counter() - start):.1f} moves/s")


main()
