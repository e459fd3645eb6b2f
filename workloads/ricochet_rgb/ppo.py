"""PPO for a policy with memory, written out plainly: collect, estimate advantages, update."""

from __future__ import annotations

from dataclasses import dataclass

import gymnasium as gym
import numpy as np
import torch
from encoder import State
from policy import Judgement, RecurrentPolicy, select_states
from torch import Tensor, nn
from torch.nn import functional

from hotloop import profile_function

GAMMA = 0.97
GAE_LAMBDA = 0.95
CLIP = 0.2
VALUE_COEFFICIENT = 0.5
ENTROPY_COEFFICIENT = 0.01
MAX_GRADIENT_NORM = 0.5


@dataclass(frozen=True)
class Rollout:
    """Experience: every tensor is (time, environments, ...)."""

    first_states: list[State]
    pictures: Tensor
    keep: Tensor
    actions: Tensor
    likelihoods: Tensor
    values: Tensor
    rewards: Tensor
    ended: Tensor
    last_values: Tensor

    def advantages(self) -> Tensor:
        """Generalised advantage estimates; nothing is carried over the end of an episode."""
        found = torch.zeros_like(self.rewards)
        following, ahead = torch.zeros_like(self.last_values), self.last_values
        for time in reversed(range(len(self.rewards))):
            goes_on = 1.0 - self.ended[time]
            surprise = self.rewards[time] + GAMMA * goes_on * ahead - self.values[time]
            following = surprise + GAMMA * GAE_LAMBDA * goes_on * following
            found[time], ahead = following, self.values[time]
        return found


class Collector:
    """Plays on where it stopped, and remembers how the last episodes went."""

    def __init__(
        self, environments: gym.vector.VectorEnv, policy: RecurrentPolicy, seed: int
    ) -> None:
        self._environments = environments
        self._policy = policy
        self._device = next(policy.parameters()).device
        self._pictures = self._to_device(environments.reset(seed=seed)[0])
        self._states = policy.hidden_states(environments.num_envs, None)
        self._keep = torch.zeros(environments.num_envs, device=self._device)
        self._running = np.zeros(environments.num_envs)
        self.returns: list[float] = []

    @profile_function("training_data_collection", category="Training")
    def collect(self, steps: int) -> Rollout:
        """Let every environment take a number of steps."""
        first_states = self._states
        rows: list[tuple[Tensor, ...]] = []
        for _ in range(steps):
            judgement = self._judge()
            actions, likelihoods = self._policy.sample(judgement)
            before = (self._pictures, self._keep)
            rewards, ended = self._step(actions[0])
            rows.append((*before, actions[0], likelihoods[0], judgement.values[0], rewards, ended))
        states, keep = self._states, self._keep
        last_values = self._judge().values[0]
        self._states, self._keep = states, keep  # that look ahead was not a step
        columns = (torch.stack(column) for column in zip(*rows, strict=True))
        pictures, keeps, chosen, likelihoods, values, gained, ends = columns
        return Rollout(
            first_states,
            pictures,
            keeps,
            chosen,
            likelihoods,
            values,
            gained,
            ends,
            last_values,
        )

    def _judge(self) -> Judgement:
        judgement: Judgement
        with torch.no_grad():
            judgement, self._states = self._policy(
                self._pictures[None], self._states, self._keep[None]
            )
        return judgement

    def _step(self, actions: Tensor) -> tuple[Tensor, Tensor]:
        pictures, rewards, terminated, truncated, _ = self._environments.step(actions.cpu().numpy())
        # An episode that ran out of time counts as lost, so both ways to end are the same here.
        ended = terminated | truncated
        self._running += rewards
        self.returns.extend(self._running[ended].tolist())
        self._running[ended] = 0.0
        self._pictures = self._to_device(pictures)
        over = self._to_device(ended).float()
        self._keep = 1.0 - over
        return self._to_device(rewards).float(), over

    def _to_device(self, array: np.ndarray) -> Tensor:
        # Copied, because the environments write their next pictures into the same array.
        return torch.from_numpy(array.copy()).to(self._device)


class Learner:
    """Improves a policy by what was experienced, a few environments at a time."""

    def __init__(
        self, policy: RecurrentPolicy, learning_rate: float, epochs: int, minibatches: int
    ) -> None:
        self._policy = policy
        self._optimizer = torch.optim.Adam(policy.parameters(), lr=learning_rate)
        self._epochs = epochs
        self._minibatches = minibatches

    @profile_function("training_model_update", category="Training", track_memory=True)
    def update(self, rollout: Rollout) -> None:
        """Go over a rollout several times; whole sequences, so that memory can be learned."""
        advantages = rollout.advantages()
        returns = advantages + rollout.values
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
        environments = rollout.rewards.shape[1]
        for _ in range(self._epochs):
            for chosen in torch.randperm(environments).chunk(self._minibatches):
                loss = self._loss(rollout, chosen, advantages[:, chosen], returns[:, chosen])
                self._optimizer.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                nn.utils.clip_grad_norm_(self._policy.parameters(), MAX_GRADIENT_NORM)
                self._optimizer.step()

    def _loss(
        self, rollout: Rollout, chosen: Tensor, advantages: Tensor, returns: Tensor
    ) -> Tensor:
        states = select_states(rollout.first_states, chosen)
        judgement, _ = self._policy(rollout.pictures[:, chosen], states, rollout.keep[:, chosen])
        likelihoods = judgement.likelihoods(rollout.actions[:, chosen])
        ratio = torch.exp(likelihoods - rollout.likelihoods[:, chosen])
        clipped = torch.clamp(ratio, 1.0 - CLIP, 1.0 + CLIP)
        policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
        value_loss = functional.mse_loss(judgement.values, returns)
        entropy: Tensor = judgement.actions.entropy().mean()
        return policy_loss + VALUE_COEFFICIENT * value_loss - ENTROPY_COEFFICIENT * entropy
