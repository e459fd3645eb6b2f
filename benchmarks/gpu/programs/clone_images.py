"""Behavior cloning from images in ordinary memory: every batch is copied while the GPU waits.

    python clone_images.py [--seconds 10] [--fixed] [--truth FILE]

`--fixed` keeps the images in pinned memory and copies the next batch during the update.
"""

from __future__ import annotations

import argparse

import torch
from torch import nn
from truth import Loop

ACT, BATCH = 10, 512


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(3, 32, 8, 4), nn.ReLU(), nn.Conv2d(32, 64, 4, 2), nn.ReLU(),
            nn.Conv2d(64, 64, 3, 1), nn.ReLU(), nn.Flatten(), nn.LazyLinear(512), nn.ReLU(),
            nn.Linear(512, ACT),
        )  # fmt: skip

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.net(x.float() / 255)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--batches", type=int, default=24)
    parser.add_argument("--side", type=int, default=168)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(4)
    torch.set_float32_matmul_precision("high")
    cuda = args.device.startswith("cuda")
    shape = (args.batches, BATCH, 3, args.side, args.side)
    images = torch.randint(0, 255, shape, dtype=torch.uint8)
    labels = torch.randint(0, ACT, (args.batches, BATCH))
    if args.fixed and cuda:
        images, labels = images.pin_memory(), labels.pin_memory()
    net = Encoder().to(args.device)
    net(images[0, :2].to(args.device))
    opt = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=cuda)
    loop = Loop(args)
    ahead = None
    side = torch.cuda.Stream() if cuda else None
    for step in loop:
        i = step % args.batches
        if args.fixed and cuda:
            if ahead is not None:
                torch.cuda.current_stream().wait_stream(side)
                x, y = ahead
            else:
                x, y = images[i].to(args.device), labels[i].to(args.device)
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                j = (i + 1) % args.batches
                ahead = (
                    images[j].to(args.device, non_blocking=True),
                    labels[j].to(args.device, non_blocking=True),
                )
        else:
            x, y = images[i].to(args.device), labels[i].to(args.device)
        with loop.span("learn.forward"):
            logits = net(x)
        loss = nn.functional.cross_entropy(logits, y)
        opt.zero_grad()
        with loop.span("learn.backward"):
            loss.backward()
        with loop.span("learn.optimizer"):
            opt.step()
    loop.finish(BATCH)


if __name__ == "__main__":
    main()
