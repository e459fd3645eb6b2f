"""The scheduling problem as a TorchRL environment, with a mask for the actions that are closed."""

from __future__ import annotations

import torch
from scheduling import JobShop, Schedule
from tensordict import TensorDict, TensorDictBase
from torchrl.data import Binary, Categorical, Composite, Unbounded
from torchrl.envs import ActionMask, Compose, EnvBase, RewardSum, StepCounter, TransformedEnv


class SchedulingEnv(EnvBase):  # type: ignore[misc]  # TorchRL ships no types
    """One schedule after another of the same shop; an episode is one schedule.

    The shop and its net leave nothing to chance, so neither does a reset: what differs between
    episodes is only what the policy does.
    """

    batch_locked = True

    def __init__(self, shop: JobShop, *, turbo: bool = True) -> None:
        super().__init__(device=torch.device("cpu"), batch_size=torch.Size([]))
        self.schedule = Schedule(shop, turbo=turbo)
        self._make_specs()

    def _make_specs(self) -> None:
        actions = self.schedule.actions
        self.observation_spec = Composite(
            observation=Unbounded(shape=(self.schedule.features,), dtype=torch.float32),
            action_mask=Binary(n=actions, dtype=torch.bool),
            deadlocked=Binary(n=1, dtype=torch.bool),
        )
        self.action_spec = Categorical(actions)
        self.reward_spec = Unbounded(shape=(1,), dtype=torch.float32)

    def _reset(self, tensordict: TensorDictBase | None = None, **_: object) -> TensorDictBase:
        self.schedule.reset()
        return self._state(done=False)

    def _step(self, tensordict: TensorDictBase) -> TensorDictBase:
        reward = self.schedule.step(int(tensordict["action"]))
        state = self._state(done=self.schedule.complete or self.schedule.deadlocked)
        state["reward"] = torch.tensor([reward], dtype=torch.float32)
        return state

    def _set_seed(self, seed: int | None) -> None:
        """There is no chance in the environment, so there is nothing to seed."""

    def _state(self, *, done: bool) -> TensorDict:
        return TensorDict(
            {
                "observation": torch.tensor(self.schedule.observe(), dtype=torch.float32),
                "action_mask": torch.tensor(self.schedule.open_actions()),
                "deadlocked": torch.tensor([self.schedule.deadlocked]),
                "done": torch.tensor([done]),
                "terminated": torch.tensor([done]),
            },
            batch_size=self.batch_size,
        )


def make_environment(shop: JobShop, *, turbo: bool = True) -> TransformedEnv:
    """The environment as the collector sees it: masked, with episode returns and lengths."""
    return TransformedEnv(
        SchedulingEnv(shop, turbo=turbo), Compose(ActionMask(), RewardSum(), StepCounter())
    )
