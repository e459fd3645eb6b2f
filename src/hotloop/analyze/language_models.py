"""RL on language models: tokens and completions generated and learned."""

from __future__ import annotations

from dataclasses import dataclass

from hotloop.analyze.model import Analysis
from hotloop.capture import schema


@dataclass(frozen=True)
class Tokens:
    """Counts of a run that generates text; rates are per second of the training loop."""

    completions: int
    generated: int
    learned: int
    prompts: int
    calls: int
    #: Calls of `generate` without a KV cache.
    uncached: int
    #: Share of decoding spent on completions that had ended: the others of a batch wait for the
    #: longest.
    tail_share: float
    #: Share of padding among the completion tokens in losses.
    padding_share: float
    loop_s: float

    @property
    def generated_per_s(self) -> float:
        return self.generated / self.loop_s if self.loop_s > 0 else 0.0

    @property
    def learned_per_s(self) -> float:
        return self.learned / self.loop_s if self.loop_s > 0 else 0.0

    @property
    def completions_per_s(self) -> float:
        return self.completions / self.loop_s if self.loop_s > 0 else 0.0

    @property
    def prompt_length(self) -> float:
        return self.prompts / self.completions if self.completions else 0.0

    @property
    def completion_length(self) -> float:
        return self.generated / self.completions if self.completions else 0.0

    @property
    def batch_size(self) -> float:
        return self.completions / self.calls if self.calls else 0.0


def tokens(analysis: Analysis) -> Tokens | None:
    """Tokens that a run generated and learned; None if it generated nothing."""

    def counted(name: str) -> int:
        return int(analysis.run.counters.get(name, 0))

    if not counted(schema.COMPLETIONS):
        return None
    generated, learned = counted(schema.TOKENS_GENERATED), counted(schema.TOKENS_LEARNED)
    return Tokens(
        completions=counted(schema.COMPLETIONS),
        generated=generated,
        learned=learned,
        prompts=counted(schema.PROMPT_TOKENS),
        calls=counted(schema.GENERATE_CALLS),
        uncached=counted(schema.GENERATE_UNCACHED),
        tail_share=_rest(generated, counted(schema.DECODE_SLOTS)),
        padding_share=_rest(learned, counted(schema.LEARN_SLOTS)),
        loop_s=analysis.run.loop_s,
    )


def _rest(part: int, whole: int) -> float:
    return 1 - part / whole if whole > 0 else 0.0
