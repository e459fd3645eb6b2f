"""The memory of the DQN: the latest transitions, in NumPy arrays on the host.

`push` stores one transition and `push_batch` many. A batch leaves the buffer exactly as the same
transitions pushed one by one would.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class Batch(NamedTuple):
    """Transitions drawn for one gradient step, on the learner's device."""

    states: Tensor
    actions: Tensor
    rewards: Tensor
    next_states: Tensor
    dones: Tensor


class ReplayBuffer:
    """A ring: when it is full, the oldest transition makes room for the newest."""

    def __init__(self, capacity: int, features: int, seed: int) -> None:
        self.capacity = capacity
        self._states = np.zeros((capacity, features), dtype=np.float32)
        self._actions = np.zeros(capacity, dtype=np.int64)
        self._rewards = np.zeros(capacity, dtype=np.float32)
        self._next_states = np.zeros((capacity, features), dtype=np.float32)
        self._dones = np.zeros(capacity, dtype=np.float32)
        self._next = 0
        self._size = 0
        self._random = np.random.default_rng(seed)

    def __len__(self) -> int:
        return self._size

    def push(
        self,
        state: NDArray[np.float32],
        action: int,
        reward: float,
        next_state: NDArray[np.float32],
        done: bool,
    ) -> None:
        """Store one transition."""
        slot = self._next
        self._states[slot] = state
        self._actions[slot] = action
        self._rewards[slot] = reward
        self._next_states[slot] = next_state
        self._dones[slot] = done
        self._next = (slot + 1) % self.capacity
        self._size = min(self._size + 1, self.capacity)

    def push_batch(
        self,
        states: NDArray[np.float32],
        actions: NDArray[np.int64],
        rewards: NDArray[np.float32],
        next_states: NDArray[np.float32],
        dones: NDArray[np.bool_],
    ) -> None:
        """Store the transitions of all rows, the first row first."""
        # Of a batch larger than the buffer, only the newest rows would survive.
        kept = min(len(actions), self.capacity)
        first = self._next + len(actions) - kept
        slots = np.arange(first, first + kept) % self.capacity
        self._states[slots] = states[-kept:]
        self._actions[slots] = actions[-kept:]
        self._rewards[slots] = rewards[-kept:]
        self._next_states[slots] = next_states[-kept:]
        self._dones[slots] = dones[-kept:]
        self._next = (self._next + len(actions)) % self.capacity
        self._size = min(self._size + len(actions), self.capacity)

    def sample(self, batch_size: int, device: torch.device) -> Batch:
        """Draw transitions, each as likely as the others, possibly one more than once."""
        rows = self._random.integers(self._size, size=batch_size)
        return Batch(
            torch.from_numpy(self._states[rows]).to(device),
            torch.from_numpy(self._actions[rows]).to(device),
            torch.from_numpy(self._rewards[rows]).to(device),
            torch.from_numpy(self._next_states[rows]).to(device),
            torch.from_numpy(self._dones[rows]).to(device),
        )
