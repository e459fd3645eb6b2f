"""The agent: a Keras Q-network, its slowly following target network, and a replay memory."""

from __future__ import annotations

import hashlib

import keras
import numpy as np
from numpy.typing import NDArray
from options import ActMode

DISCOUNT = 0.8  # a position can be changed at every bar, so little hangs on the distant future
LEARNING_RATE = 1e-3
MEMORY_CAPACITY = 10_000
LEARNING_STARTS = 100  # transitions
GRADIENT_STEPS_PER_LEARN = 2
TARGET_UPDATE_EVERY = 50  # gradient steps
EXPLORATION_STEPS = 400  # actions until epsilon has fallen to its end
EPSILON_START, EPSILON_END = 1.0, 0.05

FloatArray = NDArray[np.float32]


def build_q_network(features: int, actions: int, hidden: int) -> keras.Model:
    model = keras.Sequential(
        [
            keras.Input((features,)),
            keras.layers.Dense(hidden, activation="relu"),
            keras.layers.Dense(hidden, activation="relu"),
            # Float32 also under mixed precision: float16 is too coarse for values and losses.
            keras.layers.Dense(actions, dtype="float32"),
        ]
    )
    model.compile(optimizer=keras.optimizers.Adam(LEARNING_RATE), loss="huber")
    return model


class DQNAgent:
    """Chooses actions, remembers what came of them, and learns from a sample of memories."""

    def __init__(
        self, features: int, actions: int, hidden: int, batch_size: int, act: ActMode, seed: int
    ) -> None:
        self.actions = actions
        self.batch_size = batch_size
        self.act = act
        self.model = build_q_network(features, actions, hidden)
        self.target_model = build_q_network(features, actions, hidden)
        self.update_target()
        self.gradient_steps = 0
        self._actions_chosen = 0
        self._random = np.random.default_rng(seed)
        self._states = np.zeros((MEMORY_CAPACITY, features), dtype=np.float32)
        self._taken = np.zeros(MEMORY_CAPACITY, dtype=np.int64)
        self._rewards = np.zeros(MEMORY_CAPACITY, dtype=np.float32)
        self._next_states = np.zeros((MEMORY_CAPACITY, features), dtype=np.float32)
        self._terminated = np.zeros(MEMORY_CAPACITY, dtype=np.float32)
        self._remembered = 0

    @property
    def epsilon(self) -> float:
        done = min(1.0, self._actions_chosen / EXPLORATION_STEPS)
        return EPSILON_START + done * (EPSILON_END - EPSILON_START)

    def select_action(self, state: FloatArray) -> int:
        """The action valued most, or a random one with probability epsilon."""
        explore = self._random.random() < self.epsilon
        self._actions_chosen += 1
        if explore:
            return int(self._random.integers(self.actions))
        return int(np.argmax(self._values_of_one(state)))

    def _values_of_one(self, state: FloatArray) -> FloatArray:
        """The values of all actions in one state, as a batch of one row."""
        row = state[np.newaxis, :]
        if self.act == "call":
            return self._values_of(row)
        values: FloatArray = self.model.predict(row, verbose=0)
        return values

    def _values_of(self, states: FloatArray) -> FloatArray:
        values: FloatArray = self.model(states, training=False).numpy()
        return values

    def best_actions(self, states: FloatArray) -> NDArray[np.int64]:
        """The actions valued most in many states at once; never random."""
        best: NDArray[np.int64] = self._values_of(states).argmax(axis=1)
        return best

    def remember(
        self,
        state: FloatArray,
        action: int,
        reward: float,
        next_state: FloatArray,
        terminated: bool,
    ) -> None:
        """Store one transition in place of the oldest."""
        slot = self._remembered % MEMORY_CAPACITY
        self._states[slot] = state
        self._taken[slot] = action
        self._rewards[slot] = reward
        self._next_states[slot] = next_state
        self._terminated[slot] = terminated
        self._remembered += 1

    def learn(self) -> None:
        """Make a few gradient steps, once there is enough to learn from."""
        if self._remembered < LEARNING_STARTS:
            return
        for _ in range(GRADIENT_STEPS_PER_LEARN):
            self._gradient_step()

    def _gradient_step(self) -> None:
        rows = self._random.integers(min(self._remembered, MEMORY_CAPACITY), size=self.batch_size)
        states, taken = self._states[rows], self._taken[rows]
        best_next = self.target_model.predict_on_batch(self._next_states[rows]).max(axis=1)
        # The values of actions not taken stay as they are, so only the taken one has an error.
        targets = np.array(self.model.predict_on_batch(states), dtype=np.float32)
        targets[np.arange(self.batch_size), taken] = (
            self._rewards[rows] + DISCOUNT * (1.0 - self._terminated[rows]) * best_next
        )
        self.model.train_on_batch(states, targets)
        self.gradient_steps += 1
        if self.gradient_steps % TARGET_UPDATE_EVERY == 0:
            self.update_target()

    def update_target(self) -> None:
        self.target_model.set_weights(self.model.get_weights())

    def fingerprint(self) -> str:
        """A short name for the exact weights: equal for two runs that learned the same."""
        digest = hashlib.sha256()
        for weights in self.model.get_weights():
            digest.update(weights.tobytes())
        return digest.hexdigest()[:16]
