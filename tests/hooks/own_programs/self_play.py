"""Self-play with a tree search on a game of Nim; prints its searches and judged positions."""

import torch

torch.manual_seed(0)


class Nim:
    def __init__(self, stones=9):
        self.stones = stones

    def legal_moves(self):
        return [n for n in (1, 2, 3) if n <= self.stones]

    def play(self, move):
        return Nim(self.stones - move)

    def encode(self):
        return torch.tensor([[self.stones / 9.0]])


network = torch.nn.Linear(1, 1)
optimizer = torch.optim.SGD(network.parameters(), 0.1)
counted = {"searches": 0, "positions": 0}


class MCTS:
    def search(self, game):
        counted["searches"] += 1
        return min(game.legal_moves(), key=lambda move: self.value(game.play(move)))

    @torch.no_grad()
    def value(self, game):
        counted["positions"] += 1
        return float(network(game.encode()))


for _ in range(5):
    game, seen = Nim(), []
    while game.legal_moves():
        seen.append(game.encode())
        game = game.play(MCTS().search(game))
    for _ in range(4):
        loss = (network(torch.cat(seen)) - 1.0).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
print(counted["searches"], counted["positions"])
