"""The recurrent actor-critic: what to do next, and how well things stand."""

from __future__ import annotations

from dataclasses import dataclass

from encoder import ConvLSTMEncoder, State
from torch import Tensor, nn
from torch.distributions import Categorical

from hotloop import profile, profile_function


@dataclass(frozen=True)
class Judgement:
    """What the policy thinks of a sequence of pictures: everything is (time, batch)."""

    actions: Categorical
    values: Tensor

    def likelihoods(self, actions: Tensor) -> Tensor:
        """The logarithm of how likely the policy was to take these actions."""
        found: Tensor = self.actions.log_prob(actions)  # type: ignore[no-untyped-call]
        return found


class RecurrentPolicy(nn.Module):
    """An encoder with memory, and two heads on its features."""

    def __init__(self, encoder: ConvLSTMEncoder, features: int, actions: int) -> None:
        super().__init__()
        self._encoder = encoder
        self._actor = nn.Linear(features, actions)
        self._critic = nn.Linear(features, 1)
        # An untrained policy should try everything, so the first scores are nearly equal.
        nn.init.orthogonal_(self._actor.weight, gain=0.01)
        nn.init.zeros_(self._actor.bias)

    @profile_function("recurrent_policy_get_hidden_states", category="Policy")
    def hidden_states(self, batch: int, states: list[State] | None) -> list[State]:
        """The states to go on from, cut off from the graph of what came before."""
        if states is None:
            return self._encoder.initial_state(batch)
        return [(hidden.detach(), cell.detach()) for hidden, cell in states]

    @profile_function("recurrent_policy_forward", category="Policy", track_memory=True)
    def forward(
        self, pictures: Tensor, states: list[State] | None, keep: Tensor
    ) -> tuple[Judgement, list[State]]:
        """Judge pictures (time, batch, height, width, 3), and return the states after the last."""
        states = self.hidden_states(pictures.shape[1], states)
        features, states = self._encoder(pictures, states, keep)
        with profile("recurrent_policy_action_value", category="Policy"):
            scores, values = self._actor(features), self._critic(features).squeeze(-1)
        with profile("recurrent_policy_action_dist", category="Policy"):
            actions = Categorical(logits=scores, validate_args=False)
        return Judgement(actions, values), states

    @profile_function("recurrent_policy_action_sampling", category="Policy")
    def sample(self, judgement: Judgement) -> tuple[Tensor, Tensor]:
        """Draw actions, and say how likely each was."""
        actions: Tensor = judgement.actions.sample()  # type: ignore[no-untyped-call]
        return actions, judgement.likelihoods(actions)


def select_states(states: list[State], environments: Tensor) -> list[State]:
    """The states of some of the environments."""
    return [(hidden[environments], cell[environments]) for hidden, cell in states]
