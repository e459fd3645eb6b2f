# plants: sync-per-step @ row[f"grad/{name}"] = p.grad.norm().item()
"""Clipped policy gradient on spinning tops, with curves of losses and layers.

python curves.py [--seconds 10] [--fixed] [--truth FILE]
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop

N_OBS, N_ACT, LOG_STD = 40, 6, -0.7


def block(n_in: int, n_out: int) -> list[nn.Module]:
    return [nn.Linear(n_in, n_out), nn.LayerNorm(n_out), nn.SiLU()]


def tower(n_out: int, width: int) -> nn.Sequential:
    layers = block(N_OBS, width) + block(width, width) + block(width, width)
    return nn.Sequential(*layers, nn.Linear(width, n_out))


class Tops:
    def __init__(self, n: int, device: str) -> None:
        self.s = torch.randn(n, N_OBS, device=device)
        self.a_to_s = torch.randn(N_ACT, N_OBS, device=device) * 0.1
        self.spin = torch.linalg.qr(torch.randn(N_OBS, N_OBS))[0].to(device)

    def step(self, a: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.s = torch.tanh(self.s @ self.spin + a @ self.a_to_s)
        return self.s, 1.0 - self.s.square().mean(1)


class Diary:
    """Keeps the curves; an averaged row is added to the history each iteration."""

    def __init__(self, model: nn.Module) -> None:
        self.named = [(n, p) for n, p in model.named_parameters()]
        self.rows: list[dict[str, float]] = []
        self.history: list[dict[str, float]] = []

    def note(self, policy_loss, value_loss, kl) -> None:
        row = {
            "loss/policy": policy_loss.item(),
            "loss/value": value_loss.item(),
            "kl": kl.item(),
        }
        for name, p in self.named:
            row[f"grad/{name}"] = p.grad.norm().item()
            row[f"weight/{name}"] = p.detach().norm().item()
        self.rows.append(row)

    def close(self) -> None:
        mean = {k: sum(r[k] for r in self.rows) / len(self.rows) for k in self.rows[0]}
        self.history.append(mean)
        self.rows.clear()


class LateDiary(Diary):
    def __init__(self, model: nn.Module) -> None:
        super().__init__(model)
        self.names = ["loss/policy", "loss/value", "kl"]
        self.names += [f"grad/{n}" for n, _ in self.named]
        self.names += [f"weight/{n}" for n, _ in self.named]
        self.pending: list[torch.Tensor] = []

    def note(self, policy_loss, value_loss, kl) -> None:
        values = [p.detach() for _, p in self.named]
        norms = torch._foreach_norm([p.grad for _, p in self.named] + values)
        row = torch.stack([policy_loss.detach(), value_loss.detach(), kl.detach(), *norms])
        self.pending.append(row)

    def close(self) -> None:
        mean = torch.stack(self.pending).mean(0).tolist()
        self.history.append(dict(zip(self.names, mean, strict=True)))
        self.pending.clear()


def log_prob(mean: torch.Tensor, a: torch.Tensor) -> torch.Tensor:
    return -0.5 * ((a - mean) * 2.71828**-LOG_STD).square().sum(-1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--tops", type=int, default=1024)
    parser.add_argument("--horizon", type=int, default=16)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--epochs", type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(4)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    n, horizon, device = args.tops, args.horizon, args.device
    env = Tops(n, device)
    model = nn.ModuleDict({"pi": tower(N_ACT, args.width), "v": tower(1, args.width)}).to(device)
    adam = torch.optim.Adam(model.parameters(), lr=3e-4, fused=True)
    diary = (LateDiary if args.fixed else Diary)(model)
    t = torch.arange(horizon, device=device)
    ahead = t[None] - t[:, None]
    discount = torch.where(ahead >= 0, 0.95 ** ahead.clamp(min=0).float(), 0.0)
    states = torch.zeros(horizon, n, N_OBS, device=device)
    deeds = torch.zeros(horizon, n, N_ACT, device=device)
    rewards = torch.zeros(horizon, n, device=device)
    loop = Loop(args)
    s = env.s
    for _ in loop:
        for i in range(horizon):
            with torch.no_grad(), loop.span("policy.act"):
                mean = model["pi"](s)
                a = mean + 0.5 * torch.randn_like(mean)
            states[i], deeds[i] = s, a
            with loop.span("env.step"):
                s, rewards[i] = env.step(a)
        flat_s, flat_a = states.flatten(0, 1), deeds.flatten(0, 1)
        with torch.no_grad(), loop.span("advantage"):
            goal = (discount @ rewards).flatten()
            before = log_prob(model["pi"](flat_s), flat_a)
            gain = goal - model["v"](flat_s).squeeze(-1)
            gain = (gain - gain.mean()) / (gain.std() + 1e-6)
        for _ in range(args.epochs):
            for pick in torch.randperm(n * horizon, device=device).chunk(4):
                obs = flat_s[pick]
                ratio = torch.exp(log_prob(model["pi"](obs), flat_a[pick]) - before[pick])
                clipped = ratio.clamp(0.8, 1.2) * gain[pick]
                policy_loss = -torch.minimum(ratio * gain[pick], clipped).mean()
                value_loss = (model["v"](obs).squeeze(-1) - goal[pick]).square().mean()
                adam.zero_grad()
                with loop.span("learn.backward"):
                    (policy_loss + 0.5 * value_loss).backward()
                with loop.span("learn.optimizer"):
                    adam.step()
                diary.note(policy_loss, value_loss, (ratio - 1 - ratio.log()).mean())
        diary.close()
    loop.finish(n * horizon)


if __name__ == "__main__":
    main()
