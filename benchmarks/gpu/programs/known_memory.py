"""Allocations of known sizes inside a region that asks for its exact peak."""

from __future__ import annotations

import json

import torch

import hotloop

#: Sizes in bytes, allocated one after the other; the second is freed before the last comes.
SIZES = (10_000_001, 25_000_000, 7_777)
#: torch's caching allocator rounds to this (`c10/cuda/CUDACachingAllocator.h`: kMinBlockSize), and
#: from the second on whole segments, multiples of the third (kMinLargeAlloc, kRoundLarge).
BLOCK, LARGE, SEGMENT = 512, 10 << 20, 2 << 20


def rounded(size: int) -> int:
    unit = SEGMENT if size >= LARGE else BLOCK
    return -(-size // unit) * unit


def main() -> None:
    device = "cuda" if torch.cuda.is_available() else "cpu"
    held = torch.zeros(1_000_000, dtype=torch.uint8, device=device)
    for _ in range(3):
        with hotloop.profile("collect"), hotloop.profile("known", track_memory=True):
            first = torch.empty(SIZES[0], dtype=torch.uint8, device=device)
            second = torch.empty(SIZES[1], dtype=torch.uint8, device=device)
            del second
            third = torch.empty(SIZES[2], dtype=torch.uint8, device=device)
            with hotloop.profile("inner", track_memory=True):
                fourth = torch.empty(1_000, dtype=torch.uint8, device=device)
        del first, third, fourth
    before = rounded(held.numel())
    print(
        json.dumps(
            {
                "known": before + rounded(SIZES[0]) + rounded(SIZES[1]),
                "inner": before + rounded(SIZES[0]) + rounded(SIZES[2]) + rounded(1_000),
            }
        )
    )


if __name__ == "__main__":
    main()
