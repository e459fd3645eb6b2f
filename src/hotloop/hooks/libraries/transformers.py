"""Transformers: text generation, tokenizers and the trainer that TRL is built on.

In `generate`, the first forward pass over the prompts is `generate.prefill`, the passes that add
one token each are `generate.decode`, and the rest is sampling and stopping. Tokens are counted from
the result, once per call. A result on a device is counted by its shape, padding included, because
reading it would wait for the device.
"""

from __future__ import annotations

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.libraries.language_models import LanguageModels
from hotloop.hooks.library import Library, every, once
from hotloop.hooks.protocols import Foreign
from hotloop.measure.core import Core

_GENERATION = "transformers.generation.utils"
_TOKENIZER = "transformers.tokenization_utils_base"
_TRAINER = "transformers.trainer"

_CATEGORIES = {
    "generate.prefill": "Policy",
    "generate.decode": "Policy",
    "data.tokenize": "Data",
}


_FROM_SHAPES = (
    "Tokens on a device are counted from shapes, because reading them would wait for the "
    "device. Token counts include padding, so the shares of padding and of ended completions "
    "are too low."
)


class TokenSums:
    """Sums of token masks, read only if nothing has to wait for them."""

    def __init__(self) -> None:
        self._had_device = False

    def of(self, mask: Foreign) -> int:
        """The sum of a mask; on a device, the number of its elements."""
        if not self.is_readable(mask):
            return int(mask.numel())
        total = mask.sum()
        # `item` is hooked, and this reading is not the program's.
        return int(Core.original(type(total).item)(total))

    def is_readable(self, tensor: Foreign) -> bool:
        """Whether a tensor is in host memory."""
        readable = bool(tensor.is_cpu)
        self._had_device = self._had_device or not readable
        return readable

    def remarks(self) -> list[str]:
        return [_FROM_SHAPES] if self._had_device else []


class Generations:
    """Counts the results of `generate`: tokens, completions, padding."""

    def __init__(self, context: HookContext, sums: TokenSums, models: LanguageModels) -> None:
        self._core = context.core
        self._sums = sums
        self._models = models

    def after_generate(
        self, result: Foreign, model: Foreign, *args: Foreign, **named: Foreign
    ) -> None:
        """One call is over: note its prompts and its completions."""
        self._models.wrote(model)
        sequences: Foreign = getattr(result, "sequences", result)
        prompts: Foreign = named.get("inputs", named.get("input_ids", args[0] if args else None))
        config = named.get("generation_config") or model.generation_config
        count, length = int(sequences.shape[0]), int(sequences.shape[1])
        # An encoder-decoder's result is the completion alone.
        encodes = bool(getattr(model.config, "is_encoder_decoder", False))
        width = int(prompts.shape[1]) if prompts is not None and not encodes else 0
        mask = named.get("attention_mask")
        prompt_tokens = self._sums.of(mask) if mask is not None else width * count
        tokens = self._generated_tokens(sequences[:, width:], config)
        core = self._core.count
        core(schema.GENERATE_CALLS, 1)
        core(schema.COMPLETIONS, count)
        core(schema.PROMPT_TOKENS, prompt_tokens)
        core(schema.TOKENS_GENERATED, tokens)
        core(schema.DECODE_SLOTS, count * (length - width))
        if named.get("use_cache", getattr(config, "use_cache", None)) is False:
            core(schema.GENERATE_UNCACHED, 1)

    def _generated_tokens(self, completions: Foreign, config: Foreign) -> int:
        """Tokens up to the end of each completion, its end token included."""
        ends = getattr(config, "eos_token_id", None)
        if ends is None or not self._sums.is_readable(completions):
            return int(completions.numel())
        over = completions == (ends[0] if isinstance(ends, (list, tuple)) else int(ends))
        for end in ends[1:] if isinstance(ends, (list, tuple)) else ():
            over = over | (completions == end)
        # Tokens after the first end are padding.
        after = over.cumsum(dim=1) - over.int()
        return self._sums.of(after == 0)


def library(context: HookContext) -> Library:
    """The table of Transformers."""
    sums, models = TokenSums(), LanguageModels()
    generations = Generations(context, sums, models)
    context.module_choosers[f"{_GENERATION}.GenerationMixin"] = models.event
    return Library(
        title="Transformers",
        distribution="transformers",
        targets=(
            once(_GENERATION, "GenerationMixin.generate", "generate", generations.after_generate),
            once(_GENERATION, "GenerationMixin._prefill", "generate.prefill", optional=True),
            every(_TOKENIZER, "PreTrainedTokenizerBase.__call__", "data.tokenize"),
            every(_TOKENIZER, "PreTrainedTokenizerBase.decode", "data.tokenize"),
            every(_TOKENIZER, "PreTrainedTokenizerBase.batch_decode", "data.tokenize"),
            every(_TOKENIZER, "PreTrainedTokenizerBase.apply_chat_template", "data.tokenize"),
            every(_TRAINER, "Trainer.get_batch_samples", "data", optional=True),
            every(_TRAINER, "Trainer.log", "log"),
            every(_TRAINER, "Trainer.evaluate", "evaluate"),
            every(_TRAINER, "Trainer._save_checkpoint", "checkpoint", optional=True),
            every(_TRAINER, "Trainer.save_model", "checkpoint"),
        ),
        categories=_CATEGORIES,
        remarks=sums.remarks,
    )
