"""TRL: GRPO, RLOO and online DPO.

A trainer generates and scores completions inside its `training_step`. The part that makes a batch
of experience is `collect`; forward passes without gradients in it are log-probabilities, of the
policy or of the reference model. Each reward function is a phase with its name. What follows the
rewards in that method is the advantage. The loss and its gradients are those of PyTorch.
"""

from __future__ import annotations

import functools
import sys

from hotloop.capture import schema
from hotloop.hooks.context import HookContext
from hotloop.hooks.libraries.transformers import TokenSums
from hotloop.hooks.library import Library, Target, every, once
from hotloop.hooks.protocols import Foreign, Function, Region
from hotloop.hooks.wrapping import dispatch, observe
from hotloop.measure.core import Core

#: The modules of trainers that share their methods' names, and their classes.
_TRAINERS = {
    "trl.trainer.grpo_trainer": "GRPOTrainer",
    "trl.trainer.rloo_trainer": "RLOOTrainer",
}
_ONLINE_DPO = "trl.experimental.online_dpo.online_dpo_trainer"
_VLLM = "trl.generation.vllm_generation"


class Rewards:
    """Times the reward functions of trainers, each under its own name."""

    def __init__(self, context: HookContext) -> None:
        self._context = context
        self._known: set[str] = set()
        #: Gaps are the native core's.
        self._has_gaps = context.flow.native is not None
        self._core: Foreign = context.core
        self._advantage: Foreign = context.core.region("advantage")

    def name_functions(self, trainer: Foreign) -> None:
        """Put a region around each reward function of a trainer, once."""
        for function in trainer.reward_funcs:
            name = f"reward.{getattr(function, '__name__', type(function).__name__)}"
            if name in self._known or not hasattr(function, "__code__"):
                continue  # a reward model is a network, and a part of `reward`
            self._known.add(name)
            self._context.profiler.categories.setdefault(name, "Environment")
            detach = Core.attach(function, self._context.core.region(name).wrap)
            if detach is not None:
                self._context.undo.append(detach)

    def wrap_calculation(self, original: Function) -> Function:
        """What computes the rewards: each function under its own name."""
        timed = self._context.core.region("reward").wrap(original, outermost=True)

        @functools.wraps(original)
        def calculate(*args: Foreign, **kwargs: Foreign) -> object:
            self._context.guard("reward functions", self.name_functions, *args[:1])
            return timed(*args, **kwargs)

        return calculate

    def wrap_before_advantage(self, original: Function) -> Function:
        """`_calculate_rewards` of GRPO and RLOO: the code after it is the advantage."""
        calculate = self.wrap_calculation(original)

        @functools.wraps(original)
        def scored(*args: Foreign, **kwargs: Foreign) -> object:
            result = calculate(*args, **kwargs)
            if self._has_gaps:
                self._context.guard("the advantage", self._advantage.gap)
            return result

        return scored

    def after_scoring(self, *_: Foreign, **__: Foreign) -> None:
        """The batch is complete: the code after the rewards was the advantage."""
        if self._has_gaps:
            self._core.claim_gap(self._advantage)
            self._context.profiler.mark("advantage", "inferred")


def library(context: HookContext) -> Library:
    """The table of TRL."""
    core, rewards, sums = context.core, Rewards(context), TokenSums()
    policy, reference = core.region("logprob.policy"), core.region("logprob.reference")

    def purpose(trainer: Foreign, model: Foreign, *_: Foreign, **__: Foreign) -> Region | None:
        if sys.modules["torch"].is_grad_enabled():
            return None  # a part of the loss: the network's own call is timed
        return reference if model is getattr(trainer, "ref_model", None) else policy

    def after_loss(
        _: object, trainer: Foreign, model: Foreign, inputs: Foreign, *__: object, **___: object
    ) -> None:
        count_learned(inputs.get("completion_mask"))

    def count_learned(mask: Foreign) -> None:
        if mask is not None:
            core.count(schema.TOKENS_LEARNED, sums.of(mask))
            core.count(schema.LEARN_SLOTS, int(mask.numel()))

    def only_reference(*_: Foreign, **__: Foreign) -> Region | None:
        # Online DPO differentiates every pass of the policy.
        return None if sys.modules["torch"].is_grad_enabled() else reference

    def after_forward(_: object, trainer: Foreign, *inputs: Foreign, **__: object) -> None:
        if sys.modules["torch"].is_grad_enabled() and len(inputs) >= 5:
            count_learned(inputs[4])

    targets: list[Target] = []
    for module, trainer in _TRAINERS.items():
        targets += [
            every(
                module,
                f"{trainer}._generate_and_score_completions",
                "collect",
                rewards.after_scoring,
                optional=True,
            ),
            Target(
                module,
                f"{trainer}._calculate_rewards",
                "reward",
                overrides=True,
                wrapper=rewards.wrap_before_advantage,
                optional=True,
            ),
            Target(
                module,
                f"{trainer}._get_per_token_logps_and_entropies",
                "logprob.policy",
                overrides=True,
                wrapper=dispatch(context, purpose),
                optional=True,
            ),
            every(module, f"{trainer}._tokenize_prompts", "data.tokenize", optional=True),
            Target(
                module,
                f"{trainer}._compute_loss",
                "",
                overrides=True,
                optional=True,
                wrapper=observe(context, after=after_loss),
            ),
        ]
    targets += [
        once(_ONLINE_DPO, "OnlineDPOTrainer._generate_vllm", "generate", optional=True),
        once(_ONLINE_DPO, "OnlineDPOTrainer._move_model_to_vllm", "sync.weights", optional=True),
        Target(
            _ONLINE_DPO,
            "OnlineDPOTrainer._calculate_rewards_from_functions",
            "reward",
            wrapper=rewards.wrap_calculation,
            optional=True,
        ),
        Target(
            _ONLINE_DPO,
            "OnlineDPOTrainer._forward",
            "logprob.reference",
            wrapper=lambda original: observe(context, after=after_forward)(
                dispatch(context, only_reference)(original)
            ),
            optional=True,
        ),
        once(_VLLM, "VLLMGeneration.generate", "generate", optional=True),
        once(_VLLM, "VLLMGeneration.sync_weights", "sync.weights", optional=True),
    ]
    return Library("TRL", "trl", tuple(targets), remarks=sums.remarks)
