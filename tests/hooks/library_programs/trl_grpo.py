"""GRPO, RLOO or online DPO on a random model of two layers, with a tokenizer made here."""

import sys
import tempfile

from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import GPT2Config, GPT2LMHeadModel, PreTrainedTokenizerFast
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer

folder = tempfile.mkdtemp()
words = ["[PAD]", "[EOS]", *(f"w{i}" for i in range(62))]
words_to_ids = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="w0"))
words_to_ids.pre_tokenizer = pre_tokenizers.Whitespace()
tokenizer = PreTrainedTokenizerFast(
    tokenizer_object=words_to_ids, pad_token="[PAD]", eos_token="[EOS]", padding_side="left"
)
config = GPT2Config(
    vocab_size=64, n_positions=64, n_embd=32, n_layer=2, n_head=2,
    bos_token_id=1, eos_token_id=1, pad_token_id=0,
)  # fmt: skip
GPT2LMHeadModel(config).save_pretrained(folder)
prompts = [" ".join(f"w{(i * j) % 60}" for j in range(1, 4 + i % 3)) for i in range(32)]
counted = {"completions": 0, "tokens": 0}


def brevity(completions, completion_ids, **_):
    counted["completions"] += len(completions)
    # Online DPO hands out completions with their padding.
    counted["tokens"] += sum(ids.index(1) + 1 if 1 in ids else len(ids) for ids in completion_ids)
    return [-float(len(text)) for text in completions]


lengths = {"num_generations": 4, "max_completion_length": 12, "beta": 0.04}
trainer_class, config_class = GRPOTrainer, GRPOConfig
if "rloo" in sys.argv:
    trainer_class, config_class = RLOOTrainer, RLOOConfig
if "online-dpo" in sys.argv:
    from trl.experimental.online_dpo import OnlineDPOConfig, OnlineDPOTrainer

    trainer_class, config_class, lengths = OnlineDPOTrainer, OnlineDPOConfig, {"max_new_tokens": 12}
trainer = trainer_class(
    model=GPT2LMHeadModel.from_pretrained(folder),
    processing_class=tokenizer,
    reward_funcs=[brevity],
    args=config_class(
        output_dir=folder, per_device_train_batch_size=4, max_steps=3, report_to=[],
        save_strategy="no", use_cpu=True, gradient_accumulation_steps=2, bf16=False, **lengths,
    ),
    train_dataset=Dataset.from_dict({"prompt": prompts}),
)  # fmt: skip
trainer.train()
print(counted["completions"], counted["tokens"], trainer.state.global_step)
