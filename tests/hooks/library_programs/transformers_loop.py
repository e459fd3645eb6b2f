"""A policy gradient on a random GPT-2 of two layers, with a frozen copy as its reference."""

import copy

import torch
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
policy = GPT2LMHeadModel(
    GPT2Config(
        vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=2,
        bos_token_id=1, eos_token_id=1, pad_token_id=0,
    )
)  # fmt: skip
reference = copy.deepcopy(policy).eval()
optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4)


def logprobs(model, ids, start):
    logits = model(ids).logits[:, start - 1 : -1]
    return torch.log_softmax(logits, -1).gather(-1, ids[:, start:, None]).squeeze(-1)


rounds, updates, completions, tokens = 6, 0, 0, 0
for _ in range(rounds):
    prompts = torch.randint(2, 64, (8, 5))
    with torch.no_grad():
        written = policy.generate(
            prompts, attention_mask=torch.ones_like(prompts), max_new_tokens=12, do_sample=True
        )
        old, frozen = logprobs(policy, written, 5), logprobs(reference, written, 5)
    ended = (written[:, 5:] == 1).cumsum(1)
    completions += len(written)
    tokens += int((ended - (written[:, 5:] == 1).int() == 0).sum())
    rewards = torch.rand(8, 1)
    for _ in range(2):
        new = logprobs(policy, written, 5)
        loss = (-(new - old).exp() * (rewards - rewards.mean()) + 0.05 * (new - frozen) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        updates += 1
print(rounds, updates, completions, tokens)
