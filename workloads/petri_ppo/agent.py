"""The networks of the agent: a policy that only chooses open actions, and a value estimate."""

from __future__ import annotations

from tensordict.nn import TensorDictModule
from torch import nn
from torchrl.modules import MLP, MaskedCategorical, ProbabilisticActor, ValueOperator


def make_policy(features: int, actions: int, n_hidden: int, n_layer: int) -> ProbabilisticActor:
    """A distribution over the open actions, from which the collector samples."""
    scores = TensorDictModule(
        _mlp(features, actions, n_hidden, n_layer), in_keys=["observation"], out_keys=["logits"]
    )
    # An untrained policy should try everything, so the first scores are nearly equal.
    nn.init.orthogonal_(scores.module[-1].weight, gain=0.01)
    return ProbabilisticActor(
        scores,
        in_keys={"logits": "logits", "mask": "action_mask"},
        out_keys=["action"],
        distribution_class=MaskedCategorical,
        # A closed action gets a finite score, so that its share of the entropy is 0 and not NaN.
        distribution_kwargs={"neg_inf": -1e9},
        return_log_prob=True,
    )


def make_critic(features: int, n_hidden: int, n_layer: int) -> ValueOperator:
    """The return that is still to come, as seen from an observation."""
    return ValueOperator(_mlp(features, 1, n_hidden, n_layer), in_keys=["observation"])


def _mlp(inputs: int, outputs: int, n_hidden: int, n_layer: int) -> MLP:
    return MLP(
        in_features=inputs,
        out_features=outputs,
        num_cells=[n_hidden] * n_layer,
        activation_class=nn.Tanh,
    )
