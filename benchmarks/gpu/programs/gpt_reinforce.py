"""REINFORCE on a language model of random weights (transformers); generation without a KV cache.

    python gpt_reinforce.py [--seconds 10] [--fixed]

`--fixed` generates with the cache.
"""

from __future__ import annotations

import argparse

import torch
from transformers import GPT2Config, GPT2LMHeadModel
from truth import Loop

VOCABULARY, PROMPT, NEW, BATCH = 8192, 64, 128, 32


def reward_of(tokens: torch.Tensor) -> torch.Tensor:
    """Prefers even tokens."""
    return (tokens % 2 == 0).float().mean(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    Loop.arguments(parser)
    parser.add_argument("--fixed", action="store_true")
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--width", type=int, default=768)
    args = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    torch.set_float32_matmul_precision("high")
    config = GPT2Config(
        vocab_size=VOCABULARY, n_positions=512, n_embd=args.width, n_layer=args.layers, n_head=12,
        bos_token_id=0, eos_token_id=None, pad_token_id=0,
    )  # fmt: skip
    model = GPT2LMHeadModel(config).to(args.device)
    opt = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=args.device.startswith("cuda"))
    loop = Loop(args)
    for _ in loop:
        prompts = torch.randint(1, VOCABULARY, (BATCH, PROMPT), device=args.device)
        model.eval()
        with torch.no_grad():
            sequences = model.generate(
                prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=NEW,
                min_new_tokens=NEW, do_sample=True, use_cache=args.fixed,
            )  # fmt: skip
        model.train()
        reward = reward_of(sequences[:, PROMPT:])
        advantage = (reward - reward.mean()) / (reward.std() + 1e-6)
        logits = model(sequences[:, :-1]).logits[:, PROMPT - 1 :]
        logp = torch.log_softmax(logits, -1).gather(-1, sequences[:, PROMPT:, None]).squeeze(-1)
        loss = -(advantage[:, None] * logp).mean()
        opt.zero_grad()
        loss.backward()
        opt.step()
    loop.finish(BATCH)


if __name__ == "__main__":
    main()
